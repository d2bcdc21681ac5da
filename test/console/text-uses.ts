import ts from 'typescript';

/** Where a file of the console reads texts. */
export interface TextUse {
  readonly file: string;
  /** From the root of the locale; null: any key. */
  readonly path: readonly (string | null)[];
  /** Names of the values given to `fill`; null: the text is passed on, and filled elsewhere. */
  readonly values: readonly string[] | null;
}

/** Follows `TEXTS.a.b`, and constants that name a part of it. */
export function textUses(file: ts.SourceFile): readonly TextUse[] {
  const parts = new Map<string, TextUse['path']>([['TEXTS', []]]);
  const found: TextUse[] = [];
  const pathOf = (node: ts.Node): TextUse['path'] | null => {
    if (ts.isIdentifier(node)) return parts.get(node.text) ?? null;
    if (!ts.isPropertyAccessExpression(node) && !ts.isElementAccessExpression(node)) return null;
    const owner = pathOf(node.expression);
    const isMethod = ts.isCallExpression(node.parent) && node.parent.expression === node;
    if (owner === null || isMethod) return null;
    if (ts.isPropertyAccessExpression(node)) return [...owner, node.name.text];
    return [...owner, ts.isStringLiteral(node.argumentExpression) ? node.argumentExpression.text : null];
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    const path = pathOf(node);
    if (path !== null && path.length > 0) {
      if (isConstant(node.parent)) parts.set(node.parent.name.text, path);
      else if (isDestructured(node.parent))
        for (const { name } of node.parent.name.elements)
          parts.set(name.getText(), [...path, name.getText()]);
      else found.push({ file: file.fileName, path, values: valuesOf(node) });
    }
    // The owner of a part is not used as a whole, the index of one may be another text.
    if (path === null) ts.forEachChild(node, visit);
    else if (ts.isElementAccessExpression(node)) visit(node.argumentExpression);
  };
  visit(file);
  return found;
}

function isConstant(node: ts.Node): node is ts.VariableDeclaration & { readonly name: ts.Identifier } {
  return ts.isVariableDeclaration(node) && ts.isIdentifier(node.name);
}

/** Into constants of the same names. */
function isDestructured(
  node: ts.Node,
): node is ts.VariableDeclaration & { readonly name: ts.ObjectBindingPattern } {
  if (!ts.isVariableDeclaration(node) || !ts.isObjectBindingPattern(node.name)) return false;
  return node.name.elements.every((element) => !element.propertyName && !element.dotDotDotToken);
}

function valuesOf(text: ts.Node): TextUse['values'] {
  const { parent } = text;
  if (ts.isConditionalExpression(parent) || ts.isParenthesizedExpression(parent)) return valuesOf(parent);
  if (ts.isSpreadAssignment(parent) || ts.isPropertyAssignment(parent)) return null;
  if (!ts.isCallExpression(parent)) return [];
  const [, values] = parent.arguments;
  if (parent.expression.getText() !== 'fill' || !values || !ts.isObjectLiteralExpression(values)) return null;
  return values.properties.map((property) => property.name?.getText() ?? '');
}

const SPOKEN = /^(aria-label|label|title|alt|placeholder|text|verb|help)$/;
const EXAMPLES = [
  'https://maps.example.org/wms',
  '+proj=utm +zone=32 +ellps=GRS80 +units=m',
  ' ms',
  ' ms · ',
];

/** Words in JSX that are written there: between elements, or in an attribute that is shown or read out. */
export function ownTexts(file: ts.SourceFile): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node, spoken: boolean): void => {
    const inside = isElement(node) || (spoken && !ts.isCallExpression(node) && !isComparison(node));
    const text = ts.isJsxText(node) || ts.isStringLiteralLike(node) || isTemplatePart(node) ? node.text : '';
    if (inside && /\p{L}{2}/u.test(text) && !EXAMPLES.includes(text))
      found.push(`${file.fileName}: ${text.trim()}`);
    ts.forEachChild(node, (child) =>
      visit(
        child,
        ts.isJsxAttribute(child)
          ? SPOKEN.test(child.name.getText())
          : inside && !ts.isJsxOpeningLikeElement(child),
      ),
    );
  };
  visit(file, false);
  return found;
}

function isElement(node: ts.Node): boolean {
  return ts.isJsxElement(node) || ts.isJsxFragment(node);
}

function isTemplatePart(node: ts.Node): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

function isComparison(node: ts.Node): boolean {
  return ts.isBinaryExpression(node) && /^[=!]==$/.test(node.operatorToken.getText());
}
