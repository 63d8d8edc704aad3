import Glibc
import Testing

/// Proxies of a policy, given to programs by one address whose script changes.
@Suite("Proxies", .needsLab, .enabled(if: geteuid() == 0, "files in /etc are root's, and so are other users"))
struct ProxyScenes {
  private func scene() throws -> Scene { try Scene(words: ["proxies.bash"]) }

  @Test("are used while their tunnel is connected, by curl with the environment too, and never after a down, a kill or an end")
  func life() throws {
    let seen = try scene().play("Proxy/life")
    #expect(
      seen.lines == [
        "[published to chromium firefox]",
        "{\"ProxyMode\":\"pac_script\",\"ProxyPacUrl\":\"http://127.82.0.80:82/proxy.pac\",\"ProxyPacMandatory\":false}",
        "[  no proxy, because no tunnel with proxies is connected]",
        "roamward: no proxy to print: no tunnel with proxies is connected", "[1]",
        "http://www.example/", "  http://10.77.0.1:3128, because it is the policy's proxy for http (corp's proxies)",
        "  no proxy, because `exclude` has intranet.corp.example (corp's proxies)",
        "  no proxy, because `exclude` has 10.77.0.0/16 (corp's proxies)",
        "Acquire::http::Proxy \"http://10.77.0.1:3128\";", "Acquire::https::Proxy \"http://10.77.0.1:3128\";",
        "Acquire::http::Proxy::intranet.corp.example \"DIRECT\";", "Acquire::https::Proxy::intranet.corp.example \"DIRECT\";",
        "[curl: <html><body>by the proxy</body></html>]", "[curl: Welcome to the intranet.]",
        "[the proxy has seen: GET http://www.example/ HTTP/1.1]", "[405 403 404]", "[Cache-Control: no-cache]", "[variables: 0]", "1", "0",
        "no policy publishes proxies: programs use their own settings", "[1]", "[no note]",
      ], "\(seen)")
  }

  @Test("of a policy's own script are given byte for byte, from a file or fetched through the tunnel")
  func script() throws {
    let hasLibrary = dlopen("libpacparser.so.1", RTLD_NOW) != nil
    let seen = try scene().play("Proxy/script", with: ["library": hasLibrary ? "yes" : ""])
    let evaluated = [
      "http://www.example/x", "  PROXY 10.77.0.1:3128, because corp's own script returns that",
      "  DIRECT, because corp's own script returns that",
    ]
    #expect(
      seen.lines == ["[byte for byte]"] + (hasLibrary ? evaluated : []) + [
        "roamward: no proxy to print: corp's own script decides for each URL", "[1]",
        "[none yet: function FindProxyForURL(url, host) { return \"DIRECT\"; }]", "[fetched]", "[0 failed steps]",
      ], "\(seen)")
  }

  @Test(
    "reach what reads dconf, and leave another program's profile alone",
    .enabled(if: access("/usr/bin/dconf", X_OK) == 0, "dconf-cli is not installed"))
  func dconf() throws {
    let seen = try scene().play("Proxy/dconf")
    #expect(
      seen.lines == [
        "[644]", "['auto' 'http://127.82.0.80:82/proxy.pac']", "the address of proxies in dconf", "0", "[]",
        "[0 /etc/dconf /etc/dconf/db /etc/dconf/db/local /etc/dconf/db/local.d /etc/dconf/db/local.d/00-site ]",
        "proxies are not published to dconf: /etc/dconf/profile/user does not read the database `local`; "
          + "cure: add the line `system-db:local` to it", "user-db:user", "/etc/dconf/profile/user",
      ], "\(seen)")
  }

  @Test("reach Chromium by a managed policy", .enabled(if: access("/usr/bin/chromium", X_OK) == 0, "Chromium is not installed"))
  func browser() throws {
    let seen = try scene().play("Proxy/browser")
    #expect(seen.lines == ["[down: 0]", "[up: by the proxy]", "[down: 0]"], "\(seen)")
  }
}
