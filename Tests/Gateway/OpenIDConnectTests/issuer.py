"""An OpenID provider for tests, on loopback, with the device authorization grant (RFC 8628), and with every lie of a bad one.

issuer.py FOLDER [ADDRESS]
Makes its keys and its certificate in FOLDER (tls.pem), writes its port into FOLDER/port, and serves until it is killed. The first part of
a path is what the provider does: https://127.0.0.1:PORT/ok is a good one. At PORT/person/…, a person is needed: GET /person/approve or
/person/deny with ?code=, and for approve with &sub=, &name= and &groups=.
"""

import base64
import functools
import hashlib
import hmac
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

folder = sys.argv[1]
CLIENT, SECRET = "roamward", "s3cret/+ä"


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True, **options).stdout


def path(name):
    return os.path.join(folder, name)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def make_keys():
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path("tls.key"), "-out",
            path("tls.pem"), "-days", "30", "-subj", "/CN=issuer", "-addext", "subjectAltName=IP:127.0.0.1,DNS:login.example")
    for name, extra in (("rsa", ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
                        ("ec", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])):
        openssl("genpkey", *extra, "-out", path(name))


@functools.cache
def number(name):
    modulus = openssl("rsa", "-in", path(name), "-noout", "-modulus").decode().strip().split("=")[1]
    return bytes.fromhex(modulus)


@functools.cache
def keys():
    point = openssl("pkey", "-in", path("ec"), "-pubout", "-outform", "DER")[-64:]
    return {"keys": [
        {"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "unknown kind"},
        {"kty": "RSA", "use": "enc", "kid": "rsa", "n": base64url(b"\xff" + number("rsa")[1:]), "e": "AQAB"},
        {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rsa", "n": base64url(number("rsa")), "e": "AQAB"},
        {"kty": "EC", "crv": "P-256", "kid": "ec", "x": base64url(point[:32]), "y": base64url(point[32:])},
    ]}


def halves(der):
    """r and s of an ECDSA signature in DER, 32 bytes each."""
    out, place = b"", 2
    for _ in range(2):
        length = der[place + 1]
        out += der[place + 2:place + 2 + length].lstrip(b"\0").rjust(32, b"\0")
        place += 2 + length
    return out


def token(case, claims):
    header = {"alg": "RS256", "kid": "rsa", "typ": "JWT"}
    if case == "es256":
        header = {"alg": "ES256", "kid": "ec"}
    elif case == "none":
        header = {"alg": "none"}
    elif case == "hs256":
        header["alg"] = "HS256"
    elif case == "unknown-key":
        header["kid"] = "gone"
    elif case == "critical":
        header["crit"] = ["exp"]
    message = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    if case == "none":
        return message + "."
    if case == "hs256":
        return message + "." + base64url(hmac.new(number("rsa"), message.encode(), hashlib.sha256).digest())
    signature = openssl("dgst", "-sha256", "-sign", path("ec" if case == "es256" else "rsa"), input=message.encode())
    if case == "wrong-signature":
        signature = signature[:-1] + bytes([signature[-1] ^ 1])
    if case == "altered":
        message = message.replace(".", "." + base64url(b'{"sub":"root",')[:4], 1)
    return message + "." + base64url(halves(signature) if case == "es256" else signature)


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.codes = {}


state = State()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, body, kind="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            pass  # A client that has seen enough.

    def parts(self):
        url = urllib.parse.urlsplit(self.path)
        _, case, rest = url.path.split("/", 2)
        return case, rest, dict(urllib.parse.parse_qsl(url.query))

    def do_GET(self):
        case, rest, query = self.parts()
        base = f"https://{self.headers['Host']}/{case}"
        if rest == ".well-known/openid-configuration":
            self.describe(case, base)
        elif rest == "keys":
            self.reply(200, b"x" * 1000000 if case == "huge-keys" else keys())
        elif rest in ("approve", "deny"):
            with state.lock:
                code = next(code for code in state.codes.values() if code["user"] == query["code"])
                code["outcome"] = dict(query, denied=rest == "deny")
            self.reply(200, {})
        else:
            self.reply(404, {})

    def describe(self, case, base):
        if case == "silent":
            time.sleep(60)
        if case == "huge":
            return self.reply(200, b"[" + b" " * 1000000 + b"]")
        if case == "huge-header":
            return self.reply(200, {}, headers=[("X-Filler", "y" * 1000)] * 60)
        if case == "no-json":
            return self.reply(200, b"<html>Hello</html>", "text/html")
        if case == "deep":
            return self.reply(200, b"[" * 100000)
        if case == "moved":
            return self.reply(302, b"", headers=[("Location", base.replace("moved", "ok") + "/.well-known/openid-configuration")])
        about = {
            "issuer": "https://other.example" if case == "impostor" else base,
            "device_authorization_endpoint": base + "/device", "token_endpoint": base + "/token", "jwks_uri": base + "/keys",
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        }
        if case == "no-device":
            del about["device_authorization_endpoint"]
        if case == "plain":
            about["token_endpoint"] = about["token_endpoint"].replace("https", "http")
        if case == "post":
            about["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        self.reply(200, about)

    def do_POST(self):
        case, rest, _ = self.parts()
        base = f"https://{self.headers['Host']}/{case}"
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        if not self.knows(case, form):
            return self.reply(401, {"error": "invalid_client", "error_description": "who\x1b[31m?"})
        if rest == "device":
            self.authorize(case, base, form)
        else:
            self.give(case, base, form)

    def knows(self, case, form):
        if case == "post":
            return form.get("client_id") == CLIENT and form.get("client_secret") == SECRET and "Authorization" not in self.headers
        expected = ":".join(urllib.parse.quote_plus(text) for text in (CLIENT, SECRET))
        return self.headers.get("Authorization") == "Basic " + base64.b64encode(expected.encode()).decode()

    def authorize(self, case, base, form):
        if case == "no-scope" or "openid" not in form["scope"].split():
            return self.reply(400, {"error": "invalid_scope"})
        device = base64url(os.urandom(24))
        user = "".join("BCDFGHJKLMNPQRSTVWXZ"[byte % 20] for byte in os.urandom(8))
        user = user[:4] + "-" + user[4:]
        with state.lock:
            state.codes[device] = {"user": user, "polls": 0, "last": time.monotonic(), "interval": 1, "outcome": None}
        self.reply(200, {
            "device_code": device, "user_code": user, "verification_uri": "javascript:x" if case == "script" else base + "/enter",
            "verification_uri_complete": base + "/enter?code=" + user, "expires_in": 2 if case == "expired" else 300, "interval": 1,
        })

    def give(self, case, base, form):
        with state.lock:
            code = state.codes[form["device_code"]]
            code["polls"] += 1
            now = time.monotonic()
            early = now - code["last"] < code["interval"] - 0.05
            code["last"] = now
        if early or form["grant_type"] != "urn:ietf:params:oauth:grant-type:device_code":
            return self.reply(400, {"error": "invalid_request", "error_description": "too early"})
        outcome = code["outcome"]
        if case == "person" and outcome is None or case == "expired" or case != "person" and code["polls"] == 1:
            return self.reply(400, {"error": "authorization_pending"})
        if case == "slow" and code["polls"] == 2:
            code["interval"] += 5
            return self.reply(400, {"error": "slow_down"})
        if case == "away" and code["polls"] == 2:
            return self.reply(503, b"Try later.", "text/plain")
        if case == "denied" or outcome and outcome["denied"]:
            return self.reply(400, {"error": "access_denied"})
        if case == "expired-there":
            return self.reply(400, {"error": "expired_token"})
        self.reply(200, {"access_token": "x", "token_type": "Bearer"} if case == "no-token" else
                   {"access_token": "x", "token_type": "Bearer", "id_token": token(case, self.claims(case, base, outcome or {}))})

    def claims(self, case, base, outcome):
        now = int(time.time())
        claims = {
            "iss": base, "sub": outcome.get("sub", "248289761001"), "aud": CLIENT, "exp": now + 300, "iat": now,
            "preferred_username": outcome.get("name", "alice"), "groups": outcome.get("groups", "Engineering").split(","),
        }
        claims.update({
            "wrong-audience": {"aud": "another"}, "more-audiences": {"aud": [CLIENT, "another"]}, "wrong-issuer": {"iss": base + "/"},
            "old": {"exp": now - 600}, "replayed": {"iat": now - 3600}, "early": {"nbf": now + 3600}, "no-name": {"preferred_username": None},
        }.get(case, {}))
        return claims


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


make_keys()
server = Server((sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(path("tls.pem"), path("tls.key"))
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(path("port.new"), "w", encoding="ascii") as file:
    file.write(str(server.server_address[1]))
os.rename(path("port.new"), path("port"))
server.serve_forever()
