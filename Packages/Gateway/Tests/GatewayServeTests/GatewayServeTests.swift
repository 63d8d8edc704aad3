import Glibc
import TestSupport
import Testing

private let folder = "\(#filePath)".split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
private let script = folder + "/gateway.bash"

/// Packages that `scripts/setup --vm` unpacks beside the machine's own: installed, they would take part in its logins.
private let unpacked: String = {
  let home = getenv("HOME").map { String(cString: $0) } ?? "/root"
  let cache = getenv("XDG_CACHE_HOME").map { String(cString: $0) } ?? home + "/.cache"
  return cache + "/roamward-vm/unpacked"
}()

private let canRun: Bool =
  geteuid() == 0 && canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0
  && (try? shell("command -v wireguard-go wg wg-quick ip nft busybox unshare")) != nil

@Suite(.serialized, .enabled(if: canRun, "needs root, namespaces, /dev/net/tun, wireguard-go, wg, wg-quick, ip, busybox and nft"))
struct GatewayServeTests {
  /// Runs a script in network, mount and process namespaces of its own, which end with it.
  private static let apart = ["/usr/bin/unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/bash"]

  @Test(
    "from nothing to a connected stock client in eight lines; rules hold; a killed gateway breaks no connection; a lock disconnects",
    .timeLimit(.minutes(10)))
  func gateway() throws {
    let outcome = try run(
      Self.apart + [script],
      environment: ["ROAMWARD_BIN": Self.programs], limit: .seconds(540))
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "a login binds a device's key once; what is wrong looks the same; the process that reads clients' bytes has no power",
    .enabled(if: (try? shell("command -v python3 ip unshare pgrep setpriv")) != nil, "needs python3, ip, unshare, pgrep and setpriv"),
    .timeLimit(.minutes(5)))
  func login() throws {
    let outcome = try run(
      Self.apart + [folder + "/login.bash"],
      environment: [
        "ROAMWARD_BIN": Self.programs, "LOGIN": folder + "/login.py", "RELAY": folder + "/relay.py",
        "UNIT": folder + "/../../../../examples/roamward-gateway.service",
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      ],
      limit: .seconds(240))
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "thousands of logins a second end neither the process for logins nor a relay; devices and a right login go on",
    .enabled(
      if: ["openssl/ssl.h", "sodium.h"].allSatisfy { access("/usr/include/\($0)", R_OK) == 0 }
        && (try? shell("command -v cc python3 pgrep ss")) != nil,
      "needs cc, libssl-dev, libsodium-dev, python3, pgrep and ss"),
    .timeLimit(.minutes(5)))
  func flood() throws {
    let outcome = try run(
      Self.apart + [folder + "/flood.bash"],
      environment: [
        "ROAMWARD_BIN": Self.programs, "FLOOD": folder + "/../../../../Benchmarks/gateway-logins.c", "RELAY": folder + "/relay.py",
        "LOGIN": folder + "/login.py", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      ], limit: .seconds(240))
    print(outcome.output)
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "a person signs in at an OpenID provider with a code; the provider decides on groups, and never on who else may log in",
    .enabled(
      if: (try? shell("command -v python3 openssl curl ip unshare pgrep")) != nil, "needs python3, openssl, curl, ip, unshare and pgrep"),
    .timeLimit(.minutes(5)))
  func openID() throws {
    let tests = folder.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    let outcome = try run(
      Self.apart + [folder + "/openid.bash"],
      environment: [
        "ROAMWARD_BIN": Self.programs, "LOGIN": folder + "/login.py", "PROVIDER": tests + "/OpenIDConnectTests/issuer.py",
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      ], limit: .seconds(240))
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "passwords are checked by PAM in a process without power; a module that hangs, crashes or asks touches one login; pam_unix is refused",
    .enabled(
      if: access("/usr/include/security/pam_modules.h", R_OK) == 0 && (try? shell("command -v cc python3 ip pgrep setpriv")) != nil,
      "needs cc, libpam0g-dev, python3, ip, pgrep and setpriv"),
    .timeLimit(.minutes(5)))
  func pam() throws {
    let outcome = try run(
      Self.apart + [folder + "/pam.bash"],
      environment: [
        "ROAMWARD_BIN": Self.programs, "LOGIN": folder + "/login.py", "MODULE": folder + "/pam_scene.c",
        "UNIT": folder + "/../../../../examples/roamward-gateway.service", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      ], limit: .seconds(240))
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "passwords are those of an LDAP server (slapd, nslcd), and of a RADIUS server (freeradius), also while they are away",
    .enabled(
      if: (try? shell("command -v slapd freeradius python3 ip setpriv")) != nil
        && ["nslcd", "libpam-ldapd", "libpam-radius-auth"].allSatisfy { access("\(unpacked)/\($0)", X_OK) == 0 },
      "needs slapd, freeradius, python3, ip and setpriv; scripts/setup --vm unpacks nslcd, libpam-ldapd and libpam-radius-auth"),
    .timeLimit(.minutes(5)))
  func directory() throws {
    let outcome = try run(
      Self.apart + [folder + "/directory.bash"],
      environment: [
        "ROAMWARD_BIN": Self.programs, "LOGIN": folder + "/login.py", "UNPACKED": unpacked, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      ], limit: .seconds(240))
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "the page in the tunnel: users change what is theirs, administrators see everything, another site's page gets nothing; in a browser",
    .enabled(if: (try? shell("command -v curl python3 pgrep")) != nil, "needs curl, python3 and pgrep"), .timeLimit(.minutes(5)))
  func page() throws {
    let hasBrowser = (try? shell("command -v chromium")) != nil
    let outcome = try run(
      Self.apart + [folder + "/page.bash"],
      environment: [
        "ROAMWARD_BIN": Self.programs, "BROWSER": hasBrowser ? folder + "/browser.py" : "", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PICTURES": getenv("PICTURES").map { String(cString: $0) } ?? "",
      ], limit: .seconds(240))
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "two gateways share a store on PostgreSQL: what one changes the other one does, and without the server everybody stays",
    .enabled(if: hasServer, "needs PostgreSQL"),
    .timeLimit(.minutes(10)))
  func sharedStore() throws {
    let outcome = try run(
      Self.apart + [folder + "/shared.bash"],
      environment: ["ROAMWARD_BIN": Self.programs, "LOGIN": folder + "/login.py", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"],
      limit: .seconds(540))
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "a pair with one address: a download goes on across kill -9 of the active gateway, by masquerade with conntrackd and by our agent too",
    .enabled(
      if: hasServer && (try? shell("command -v keepalived conntrackd conntrack python3 wireguard-go sysctl ss jq")) != nil,
      "needs PostgreSQL, keepalived, conntrackd, jq and python3"),
    .timeLimit(.minutes(5)), arguments: ["routed", "translated", "agent", "agent6"])
  func pair(kind: String) throws {
    let examples = folder.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 } + "/examples/gateway-pair"
    let outcome = try run(
      Self.apart + [folder + "/pair.bash", kind],
      environment: [
        "ROAMWARD_BIN": Self.programs, "FLOW": folder + "/flow.py", "EXAMPLES": examples,
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      ], limit: .seconds(240))
    print(outcome.output)
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  @Test(
    "both gateways of a pair give addresses of one pool, while one is killed again and again: none is given twice (GRANTS, SEED)",
    .enabled(if: hasServer, "needs PostgreSQL"), .timeLimit(.minutes(30)))
  func grants() throws {
    let seed = getenv("SEED").map { String(cString: $0) } ?? "\(UInt16.random(in: 1...32_767))"
    let outcome = try run(
      Self.apart + [folder + "/grants.bash"],
      environment: [
        "ROAMWARD_BIN": Self.programs, "GRANTS": getenv("GRANTS").map { String(cString: $0) } ?? "60", "SEED": seed,
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      ], limit: .seconds(1_700))
    print(outcome.output)
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  private static var hasServer: Bool {
    (try? shell("ls /usr/lib/postgresql/*/bin/postgres && command -v nsenter pkill setpriv python3")) != nil && getpwnam("postgres") != nil
  }

  /// The folder that the tests were built into.
  private static var programs: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }
}
