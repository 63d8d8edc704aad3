import GatewayPage
import Glibc
import JSON
import LinuxIO
import SchemaCheck
import TestSupport
import Testing

/// One gateway, and the people who connect to it.
@Suite(.serialized, .forScenes) struct GatewayServeTests {
  @Test(
    "from nothing to a connected stock client in eight lines; rules hold; a killed gateway breaks no connection; a lock disconnects")
  func gateway() throws {
    try GatewayScene.play("gateway")
  }

  @Test(
    "a newcomer's lines of docs/how-to/gateway-client.md, 8 at the gateway and 5 on the laptop at most: it is connected, and pings",
    .needs("python3", "ss"))
  func first() throws {
    try GatewayScene.play(
      "first",
      with: [
        "DOCUMENT": GatewayScene.root + "/docs/how-to/gateway-client.md", "EXAMPLES": GatewayScene.root + "/examples",
        "TYPIST": GatewayScene.root + "/Tests/ScenarioTests/Scenes/typist",
      ])
  }

  @Test(
    "a device is cut off in the middle of connections by masquerade: packets stop, and the connections stay dead when it may connect again",
    .needs("conntrack", "ss"))
  func kick() throws {
    try GatewayScene.play("kick")
  }

  @Test(
    "port shadow: no flow of a device takes a port of the gateway, whoever translates it; others reach WireGuard, logins and relays",
    .needs("conntrack", "python3", "ping"))
  func shadow() throws { try GatewayScene.play("shadow", with: GatewayScene.packets) }

  @Test(
    "a device's ICMP errors pass for its own connections alone; a flood of one device leaves others their greetings and questions",
    .needs("conntrack", "openssl", "python3", "ping", "ss"))
  func errors() throws { try GatewayScene.play("errors", with: GatewayScene.packets) }

  @Test(
    "a device is told its settings at its first packet, and the end of its login, but no lock: by another implementation of the port",
    .needs("python3"))
  func told() throws { try GatewayScene.play("told", with: GatewayScene.loginClient) }

  @Test(
    "a login binds a device's key once; what is wrong looks the same; the process that reads clients' bytes has no power",
    .needs("python3", "ip", "unshare", "pgrep", "setpriv"))
  func login() throws {
    let documents = try TemporaryFolder()
    try GatewayScene.play(
      "login", with: GatewayScene.loginClient,
      [
        "RELAY": GatewayScene.folder + "/relay.py", "UNIT": GatewayScene.root + "/packaging/systemd/roamward-gateway.service",
        "DOCUMENTS": documents.path,
      ])
    try check(documents, are: PublishedGatewaySchema.allCases.filter { $0 != .page })
  }

  /// The documents that a scene has made are as their schemas say.
  private func check(_ documents: TemporaryFolder, are expected: [PublishedGatewaySchema]) throws {
    let files = Folder.names(in: documents.path).sorted()
    #expect(Set(files.map { String($0.prefix { $0 != "-" }) }) == Set(expected.map(\.rawValue)))
    for file in files {
      let schema = try #require(PublishedGatewaySchema(rawValue: String(file.prefix { $0 != "-" })))
      let text = String(decoding: try TextFile.read("\(documents.path)/\(file)"), as: UTF8.self)
      let lines = schema == .monitor ? text.split(separator: "\n").map(String.init) : [text]
      #expect(!lines.isEmpty)
      for line in lines { #expect(violations(of: try schema.json(), in: try JSON(parsing: line.utf8)) == [], "\(file): \(line)") }
    }
  }

  @Test(
    "a gateway begins with its files and follows them; a mistake changes nothing; commands leave them what is theirs",
    .needs("ip", "setpriv"))
  func declared() throws { try GatewayScene.play("declared") }

  @Test(
    "files on trial: kept, or the gateway is exactly as before, also after kill -9 at each step of a command",
    .needs("ip", "sqlite3"))
  func trial() throws { try GatewayScene.play("trial") }

  @Test(
    "a gateway moves to a bare machine by one file, and clients know it by the old pin; killed at each step, it is whole or not there",
    .needs("python3", "tar", "wg"))
  func backup() throws { try GatewayScene.play("backup", with: GatewayScene.loginClient) }

  @Test(
    "a user's logins end at the limit of devices, and others log in; in a full pool, the address of a removed device is given at once",
    .needs("python3", "ip"))
  func limit() throws { try GatewayScene.play("limit", with: GatewayScene.loginClient) }

  @Test(
    "a network's refused logins end in a count of the audit log, and hide no other person's", .needs("python3", "ip"))
  func refused() throws { try GatewayScene.play("refused", with: GatewayScene.loginClient) }

  @Test(
    "thousands of logins a second end neither the process for logins nor a relay; devices and a right login go on",
    .enabled(
      if: ["openssl/ssl.h", "sodium.h"].allSatisfy { access("/usr/include/\($0)", R_OK) == 0 }
        && (try? shell("command -v cc python3 pgrep ss")) != nil,
      "needs cc, libssl-dev, libsodium-dev, python3, pgrep and ss"))
  func flood() throws {
    try GatewayScene.play(
      "flood", with: GatewayScene.loginClient,
      ["FLOOD": GatewayScene.root + "/Benchmarks/gateway-logins.c", "RELAY": GatewayScene.folder + "/relay.py"])
  }

  @Test(
    "strangers who hold connections and relays, or make the gateway work, keep nobody from logging in at once", .needs("python3", "pgrep"))
  func hold() throws {
    try GatewayScene.play(
      "hold", with: GatewayScene.loginClient, ["HOLD": GatewayScene.folder + "/hold.py", "RELAY": GatewayScene.folder + "/relay.py"])
  }

  @Test(
    "a person signs in at an OpenID provider with a code; the provider decides on groups, and never on who else may log in",
    .needs("python3", "openssl", "curl", "ip", "unshare", "pgrep"))
  func openID() throws {
    try GatewayScene.play(
      "openid", with: GatewayScene.loginClient, ["PROVIDER": GatewayScene.root + "/Tests/Gateway/OpenIDConnectTests/issuer.py"])
  }

  @Test(
    "passwords are checked by PAM in a process without power; a module that hangs, crashes or asks touches one login; pam_unix is refused",
    .enabled(
      if: access("/usr/include/security/pam_modules.h", R_OK) == 0 && (try? shell("command -v cc python3 ip pgrep setpriv")) != nil,
      "needs cc, libpam0g-dev, python3, ip, pgrep and setpriv"))
  func pam() throws {
    try GatewayScene.play(
      "pam", with: GatewayScene.loginClient,
      ["MODULE": GatewayScene.folder + "/pam_scene.c", "UNIT": GatewayScene.root + "/packaging/systemd/roamward-gateway.service"])
  }

  @Test(
    "passwords are those of an LDAP server (slapd, nslcd), and of a RADIUS server (freeradius), also while they are away",
    .enabled(
      if: (try? shell("command -v slapd freeradius python3 ip setpriv")) != nil
        && ["nslcd", "libpam-ldapd", "libpam-radius-auth"].allSatisfy { access("\(GatewayScene.unpacked)/\($0)", X_OK) == 0 },
      "needs slapd, freeradius, python3, ip and setpriv; scripts/setup --vm unpacks nslcd, libpam-ldapd and libpam-radius-auth"))
  func directory() throws {
    try GatewayScene.play("directory", with: GatewayScene.loginClient, ["UNPACKED": GatewayScene.unpacked])
  }

  @Test(
    "the page in the tunnel: users change what is theirs, administrators see everything, another site's page gets nothing",
    .needs("curl", "python3", "pgrep"))
  func page() throws {
    let documents = try TemporaryFolder()
    try GatewayScene.play("page", with: GatewayScene.loginClient, ["BROWSER": "", "DOCUMENTS": documents.path])
    try check(documents, are: [.page])
  }

  @Test(
    "an administrator invites by a link that logs in once, and locks; operators may not, and files keep what they declare",
    .needs("curl", "python3", "pgrep"))
  func invite() throws {
    let documents = try TemporaryFolder()
    try GatewayScene.play("invite", with: GatewayScene.loginClient, ["DOCUMENTS": documents.path])
    try check(documents, are: [.page])
  }

  @Test(
    "the page in a browser: a phone is added by its QR code, an administrator sees everything; on phones, in the dark, by keys and for all",
    .needs("chromium", "zbarimg", "curl", "python3", "pgrep"),
    .enabled(if: access(GatewayScene.axe, R_OK) == 0, "needs axe-core, which scripts/setup --vm unpacks"))
  func browser() throws {
    try GatewayScene.play(
      "page", with: GatewayScene.loginClient,
      ["BROWSER": GatewayScene.folder + "/browser.py", "PICTURES": GatewayScene.pictures, "AXE": GatewayScene.axe])
  }

  @Test("commands that change groups, settings, devices and tokens do so, and the audit log has them")
  func commands() throws { try GatewayScene.play("commands") }

  @Test("QR codes that a terminal shows are read as the bytes of the file", .needs("zbarimg", "python3", "wg"))
  func codes() throws {
    try GatewayScene.play("codes", with: ["TERMINAL": GatewayScene.folder + "/terminal.py"])
  }

  @Test(
    "1,012 devices pass traffic again after restarts of a gateway, and no password is hashed", .needs("python3", "pgrep", "od", "ss"))
  func restarts() throws {
    try GatewayScene.play(
      "crowd", "restart", with: GatewayScene.loginClient, ["FILL": GatewayScene.root + "/Benchmarks/gatewaylab.py"])
  }
}
