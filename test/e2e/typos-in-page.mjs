/**
 * Runs in the page, before its own scripts: types into fields as a user does, tries to send the form, and keeps back every request
 * that would change something. In the page, because a hundred typos from outside take a thousand round trips.
 */
const sent = [];
const ask = window.fetch;

window.fetch = (input, init = {}) => {
  const { method = 'GET', body = '' } = init;
  const asks = method === 'GET' || /dryRun=true/.test(String(input)) || /"dryRun":true/.test(String(body));
  if (asks) return ask(input, init);
  sent.push(`${method} ${input} ${body}`);
  return Promise.resolve(new Response('kept back', { status: 503 }));
};

const TEXTS = 'input:not([type=checkbox],[type=radio],[type=file],[type=search]), textarea';
const nameOf = (control) => (control.labels?.[0]?.firstChild?.textContent ?? '').trim();
const fieldsIn = (root) => [...root.querySelectorAll(TEXTS)].filter((control) => !control.disabled);

function type(control, text) {
  control.focus();
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), 'value').set.call(control, text);
  control.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertText' }));
}

/** What a field says is wrong with it; empty: nothing. */
function faultAt(control) {
  const under = document.getElementById(control.getAttribute('aria-describedby') ?? '')?.textContent ?? '';
  if (control.getAttribute('aria-invalid') === 'true') {
    return (
      under || (control.closest('fieldset, .stack, form')?.querySelector('.field-error')?.textContent ?? '')
    );
  }
  return control.validationMessage;
}

const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 20));

async function until(isTrue, timeoutMs) {
  for (const begun = performance.now(); !isTrue(); await nextTurn()) {
    if (performance.now() - begun > timeoutMs) return false;
  }
  return true;
}

/** By Enter, as browsers do it, and by the button. */
async function trySending(control, button) {
  const enter = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true });
  const goesOn = control.dispatchEvent(enter) && control instanceof HTMLInputElement;
  const usual = control.form?.querySelector('button[type=submit]');
  if (goesOn && usual && !usual.disabled) control.form.requestSubmit(usual);
  button()?.click();
  // What a click starts is asked for after the page is drawn.
  await nextTurn();
  await nextTurn();
}

window.typos = {
  sent,
  /** Fields by name, without those that are in `known`. */
  others: (root, known) =>
    fieldsIn(root)
      .filter((control) => control.checkVisibility())
      .map(nameOf)
      .filter((name) => !known.includes(name)),

  /** Types each wrong text, and puts the right one back; returns what went wrong. */
  async tryAll(root, fields, verb, timeoutMs) {
    const missed = [];
    const button = () => [...root.querySelectorAll('button')].find((one) => one.textContent.match(verb));
    for (const [name, wrong] of Object.entries(fields)) {
      const control = () => fieldsIn(root).find((one) => nameOf(one) === name);
      // A field may be disabled until what it offers is there.
      await until(control, timeoutMs);
      const right = control()?.value;
      if (right === undefined) missed.push(`there is no field ${name}`);
      for (const text of right === undefined ? [] : wrong) {
        sent.length = 0;
        const at = control();
        // A password that is emptied takes its repetition along.
        const before = fieldsIn(root).map((one) => [one, one.value]);
        type(at, text);
        await trySending(at, button);
        if (!(await until(() => faultAt(at) !== '', timeoutMs)))
          missed.push(`${name}: ${JSON.stringify(text)} is no fault`);
        await trySending(at, button);
        if (sent.length > 0) missed.push(`${name}: ${JSON.stringify(text)} sent ${sent.join()}`);
        type(control(), right);
        at.blur();
        for (const [one, value] of before) if (one.isConnected && one.value !== value) type(one, value);
        await until(() => control() && faultAt(control()) === '', timeoutMs);
      }
    }
    return missed;
  },
};
