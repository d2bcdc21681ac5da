"""Loads the addresses of a server as a user of QGIS would paste them, and draws each: load-layers.py URL KEY"""
import sys

from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsRasterLayer,
    QgsRectangle,
)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor

BASE, KEY = sys.argv[1:3]
ITALY = (6, 36, 19, 47)
JAPAN = (129, 31, 146, 46)
MERCATOR = (-2e7, -1e7, 2e7, 1e7)


def wmts(address, layer, grid_set, crs="EPSG:4326"):
    quoted = address.replace("&", "%26").replace("=", "%3D")
    return f"crs={crs}&format=image/png&layers={layer}&styles=&tileMatrixSet={grid_set}&url={quoted}"


def wms(address, layer, crs):
    return f"crs={crs}&format=image/png&layers={layer}&styles=&url={address}"


CASES = [
    ("WMTS, bare address", wmts(f"{BASE}/service/wmts", "world", "EPSG:900913", "EPSG:3857"), "EPSG:3857", MERCATOR),
    ("WMTS, lower case request", wmts(f"{BASE}/service/wmts?REQUEST=getcapabilities", "world", "EPSG:4326"), "EPSG:4326", ITALY),
    ("WMTS, full address", wmts(f"{BASE}/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities", "world", "EPSG:4326"), "EPSG:4326", ITALY),
    ("WMTS, RESTful document", wmts(f"{BASE}/service/wmts/rest/WMTSCapabilities.xml", "world", "EPSG:4326"), "EPSG:4326", ITALY),
    ("WMTS, own grid set in EPSG:4326", wmts(f"{BASE}/service/wmts", "own", "own-degrees"), "EPSG:4326", ITALY),
    ("WMTS, several grid sets in one CRS: the first", wmts(f"{BASE}/service/wmts", "several", "europe"), "EPSG:4326", ITALY),
    ("WMTS, several grid sets in one CRS: the last", wmts(f"{BASE}/service/wmts", "several", "asia"), "EPSG:4326", JAPAN),
    ("WMTS, a layer created over REST", wmts(f"{BASE}/service/wmts", "made:over rest", "EPSG:4326"), "EPSG:4326", ITALY),
    ("WMS", wms(f"{BASE}/service/wms", "world", "EPSG:4326"), "EPSG:4326", ITALY),
    ("WMS, closing slash", wms(f"{BASE}/service/wms/", "world", "EPSG:3857"), "EPSG:3857", MERCATOR),
    ("WMTS, a closed layer with a key", wmts(f"{BASE}/service/wmts?key={KEY}", "closed", "EPSG:4326"), "EPSG:4326", ITALY),
    ("WMS, a closed layer with a key", wms(f"{BASE}/service/wms?key%3D{KEY}", "closed", "EPSG:4326"), "EPSG:4326", ITALY),
    ("XYZ, a closed layer with a key", f"type=xyz&zmax=8&url={BASE}/tiles/closed/{{z}}/{{x}}/{{y}}.png?key%3D{KEY}", "EPSG:3857", MERCATOR),
]


def colours_drawn(layer, crs, box):
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setBackgroundColor(QColor(255, 0, 255))
    settings.setOutputSize(QSize(300, 250))
    settings.setDestinationCrs(QgsCoordinateReferenceSystem(crs))
    settings.setExtent(QgsRectangle(*box))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    image = job.renderedImage()
    seen = [image.pixel(x, y) & 0xFFFFFF for x in range(0, 300, 10) for y in range(0, 250, 10)]
    return len(set(seen)), seen.count(0xFF00FF) / len(seen)


def main():
    application = QgsApplication([], False)
    application.initQgis()
    failed = 0
    for title, source, crs, box in CASES:
        layer = QgsRasterLayer(source, title, "wms")
        colours, empty = colours_drawn(layer, crs, box) if layer.isValid() else (0, 1)
        sound = layer.isValid() and colours > 3 and empty < 0.5
        failed += not sound
        print(f"{'ok  ' if sound else 'FAIL'} {title}: valid {layer.isValid()}, {colours} colours, {empty:.0%} empty")
    application.exitQgis()
    return failed


sys.exit(1 if main() else 0)
