# Words for scenes with proxies: a proxy behind the tunnel, a folder /etc of the scene's own, an ordinary user.
# shellcheck shell=bash disable=SC2154

pac=http://127.82.0.80:82/proxy.pac

# /etc is a copy, so that files of programs change here alone.
own_etc() {
  cp -a /etc "$scene/etc"
  rm -rf "$scene"/etc/{chromium,dconf,firefox,opt/chrome}
  mount --bind "$scene/etc" /etc
  (cd /etc && find . -type d -o -type f | sort) >"$scene/etc.before"
}
etc_as_before() { diff "$scene/etc.before" <(cd /etc && find . -type d -o -type f | sort); }

# Answers every request, and notes its first line.
start_proxy() {
  cat >"$scene/proxy.py" <<'END'
import http.server, sys

class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open(sys.argv[1], "a").write(self.requestline + "\n")
        body = b"<html><body>by the proxy</body></html>\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(("10.77.0.1", 3128), Proxy).serve_forever()
END
  touch "$scene/requests"
  on gateway python3 "$scene/proxy.py" "$scene/requests" </dev/null >"$scene/proxy.log" 2>&1 &
  within 10 eval 'on gateway curl --silent --max-time 2 http://10.77.0.1:3128/ >/dev/null'
  : >"$scene/requests"
}

# A policy with these lines of `proxy`, started by hand.
proxy_policy() {
  cat >"$policies/corp.yaml" <<END
version: 1
tunnels:
  corp:
    provider: { wireguard: { config: corp.conf } }
    proxy: $1
    on-demand: { rules: [ { action: ignore } ] }
END
}

as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$scene/roamward" "$@"; }
served() { curl --silent --show-error --fail --max-time 5 "$pac"; }
serves() { served | found -- "$1"; }
helper() { pgrep --exact roamward-proxy --ns $$ --nslist net; }
published() { roamward status --json | jq -r '.proxies.published | join(" ")'; }
