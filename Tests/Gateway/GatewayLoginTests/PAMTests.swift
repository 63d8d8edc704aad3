import GatewayCore
import GatewayLogin
import LoginProtocol
import SeededRandom
import Testing

@Suite struct PAMTests {
  private func stack(_ files: [String: String], _ service: String = "roamward") throws(GatewayError) -> PAMStack {
    try PAMStack(service: service) { name in files[name].map { ("/etc/pam.d/\(name)", $0) } }
  }

  /// The problem of the files, if every module but these exists; `nil`: none.
  private func fault(_ files: [String: String], missing: Set<String> = []) -> String? {
    do throws(GatewayError) { return try stack(files).fault { !missing.contains($0) }?.description } catch { return error.description }
  }

  private let ldap = "auth required pam_ldap.so\naccount required pam_ldap.so\n"

  @Test("a stack of modules that ask the network is possible") func possible() throws {
    #expect(fault(["roamward": ldap]) == nil)
    let radius = "auth required pam_radius_auth.so conf=/etc/radius.conf\naccount required pam_permit.so\n"
    #expect(fault(["roamward": radius]) == nil)
    #expect(try stack(["roamward": radius]).radiusFiles.map(\.path) == ["/etc/radius.conf"])
    #expect(try stack(["roamward": radius]).radiusFiles.map(\.place) == ["/etc/pam.d/roamward:1"])
    // Kinds that are not used may have any module.
    #expect(fault(["roamward": ldap + "session required pam_unix.so\npassword required pam_unix.so\n"]) == nil)
    #expect(fault(["roamward": ldap + "-auth optional pam_none.so\n"], missing: ["pam_none.so"]) == nil)
  }

  @Test(
    "a module that needs root is named with its file and line, through all ways to include",
    arguments: [
      ("@include common", "common", "auth required pam_unix.so\n", "/etc/pam.d/common:1"),
      ("auth include common", "common", "\n# pam_env.so\nAUTH [success=1 default=ignore] pam_unix.so nullok\n", "/etc/pam.d/common:3"),
      ("auth substack common", "common", "@include deep", "/etc/pam.d/deep:2"),
      ("auth sufficient \\\n pam_unix.so", "common", "", "/etc/pam.d/roamward:3"),
      ("account required /lib/security/pam_unix.so", "common", "", "/etc/pam.d/roamward:3"),
      ("-auth optional pam_unix.so", "common", "", "/etc/pam.d/roamward:3"),
    ])
  func unix(line: String, name: String, text: String, place: String) throws {
    let found = try #require(fault(["roamward": ldap + line + "\n", name: text, "deep": "#\nauth required pam_unix.so\n"]))
    #expect(found.hasPrefix("pam: \(place): pam_unix reads /etc/shadow"), "\(found)")
    #expect(found.contains("\n  help: "), "\(found)")
  }

  @Test("what is missing is named with its place") func missing() throws {
    #expect(fault([:])?.hasPrefix("pam: there is no file /etc/pam.d/roamward") == true)
    #expect(fault(["roamward": ldap], missing: ["pam_ldap.so"])?.hasPrefix("pam: /etc/pam.d/roamward:1: the module pam_ldap.so") == true)
    #expect(fault(["roamward": "@include none\n" + ldap])?.hasPrefix("pam: /etc/pam.d/roamward:1: there is no file none") == true)
    #expect(fault(["roamward": ldap + "auth required\n"])?.hasPrefix("pam: /etc/pam.d/roamward:3: the line is not complete") == true)
    #expect(fault(["roamward": "auth required pam_ldap.so"])?.contains("no line for `account`") == true)
    #expect(fault(["roamward": "@include roamward\n"])?.contains("include one another") == true)
    #expect(fault(["roamward": "auth required pam_permit.so\naccount required pam_ldap.so"])?.contains("no module checks") == true)
    // libpam uses `other` for a kind without lines.
    #expect(
      fault(["roamward": "auth required pam_ldap.so", "other": "account required pam_unix.so"])?
        .hasPrefix("pam: /etc/pam.d/other:1: pam_unix") == true)
  }

  @Test("settings are read as they were written, and mistakes are told") func settings() throws {
    var settings = PAMSettings(service: "roamward")
    (settings.createsUsers, settings.seconds) = (true, 3)
    #expect(try PAMSettings(parsing: settings.text) == settings)
    #expect(try PAMSettings(parsing: "# a\n\nservice x\n").seconds == 15)
    for text in ["", "service ../x", "service a/b", "service .", "service X", "service a\ntimeout 0", "service a\ntimeout 16", "color x"] {
      #expect(throws: GatewayError.self, "\(text)") { try PAMSettings(parsing: text) }
    }
  }

  @Test("gateway and process read what the other writes; no bytes make more of it") func messages() throws {
    let name = try #require(GatewayName("alice"))
    let orders: [PAMOrder] = [
      .check(service: "roamward", user: name, password: [1, 0, 255], source: try address("192.0.2.7")), .answer([]), .answer([0x31]),
    ]
    for order in orders { #expect(try PAMOrder(LoginFrame(body: order.frame.bytes.dropFirst(2))) == order) }
    let reports: [PAMReport] = [
      .hello(trouble: nil), .hello(trouble: "no"), .prompt(text: "Token?", echo: true), .prompt(text: "", echo: false),
      .accepted(notes: "It ends\ntomorrow."), .refused(.expiredAccount), .unavailable("no server"),
    ]
    for report in reports { #expect(try PAMReport(LoginFrame(body: report.frame.bytes.dropFirst(2))) == report) }
    var random = SplitMix64(seed: 64)
    for _ in 0..<20_000 {
      var bytes = Array(random.pick(reports).frame.bytes.dropFirst(2))
      for _ in 0..<(1 + random.next() % 3) { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(random.next() & 0xff) }
      guard let frame = try? LoginFrame(body: bytes[...]), let report = try? PAMReport(frame) else { continue }
      if case .prompt(let text, _) = report { #expect(text == PAMReport.printable(text) && text.utf8.count <= PAMLimits.text) }
    }
  }

  @Test("texts of modules have neither control characters nor more bytes than a text may have") func texts() {
    #expect(PAMReport.printable("\u{1b}[31mRed\u{7}\u{202e}\r\n") == "[31mRed")
    #expect(PAMReport.printable("a\nb") == "a\nb")
    #expect(PAMReport.printable(String(repeating: "ä", count: 1000)).utf8.count == PAMLimits.text)
    #expect(PAMReport.printable(String(repeating: "€", count: 1000)).utf8.count <= PAMLimits.text)
  }
}
