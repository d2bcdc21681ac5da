"""A pytest plugin that records the requests of MapProxy's system tests, with MapProxy's responses, in the folder RECORDED.

`requests.jsonl` has a line for each; `configuration` names a folder beside that file with the test's configuration and its
other files. Requests with an authorization callback are left out: they need the test's own code.
"""
import json
import os
import shutil

import webtest
from mapproxy.test import system

FOLDER = os.environ['RECORDED']
make_app = system.make_wsgi_app
do_request = webtest.TestApp.do_request
configurations = {}


def make_recorded_app(path, *args, **options):
    app = make_app(path, *args, **options)
    name = str(len(configurations))
    configurations[id(app)] = {'configuration': name, 'file': os.path.basename(path), 'app': app}
    shutil.copytree(os.path.dirname(path), os.path.join(FOLDER, name))
    return app


def record(self, request, *args, **options):
    known = configurations.get(id(self.app))
    response = do_request(self, request, *args, **options)
    if known and 'mapproxy.authorize' not in request.environ and request.method == 'GET':
        line = {
            'test': os.environ.get('PYTEST_CURRENT_TEST', '').split(' ')[0],
            'configuration': known['configuration'],
            'file': known['file'],
            # Without SCRIPT_NAME, which a proxy would strip.
            'path': request.path_info + ('?' + request.query_string if request.query_string else ''),
            'headers': {name: value for name, value in request.headers.items() if name != 'Host'},
            'status': response.status_int,
            'type': response.content_type,
        }
        with open(os.path.join(FOLDER, 'requests.jsonl'), 'a', encoding='utf8') as lines:
            lines.write(json.dumps(line) + '\n')
    return response


def pytest_configure(config):
    system.make_wsgi_app = make_recorded_app
    webtest.TestApp.do_request = record
