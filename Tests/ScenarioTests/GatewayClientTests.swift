import Glibc
import Testing

@Suite("The client of our own gateway", .needsLab, .marksSockets)
struct GatewayClientScenes {
  /// With a provider that manifests name `roamward`.
  private func scene(words: [String] = []) throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash", "client.bash"] + words)
    try scene.play("GatewayClient/set-up")
    return scene
  }

  @Test("logs in once by a file, then connects by its key: through roams, restarts of everything, and without privileges")
  func life() throws {
    let seen = try scene().play("GatewayClient/life")
    #expect(
      seen.lines == [
        "[dev office, dev wlan0, mtu 1380]", "to 10.95.0.1 of office",
        "[Uid:1909024657 CapPrm:0000000000000000 CapEff:0000000000000000 NoNewPrivs:1 Seccomp:2]", "[1 login, 1]",
        #"[true,"alice",false]"#, "[1 login]", "[left: 0]", "0",
      ])
  }

  @Test("both policies of the how-to connect by the gateway's name, on a network with nothing but resolv.conf", arguments: [1, 2])
  func byName(policy: Int) throws {
    let seen = try scene().play("GatewayClient/by-name", with: ["POLICY": policy])
    let said = "does not accept the name, the password or the code: `roamward answer corp` asks again"
    #expect(seen.lines == ["1", "[wrong 1]", said, "corp: connected", "[override null]", "0"], "\(seen)")
  }

  @Test("a refused answer is asked for again at the same terminal, is never shown, and leaves no override") func terminal() throws {
    let seen = try scene().play("GatewayClient/terminal")
    #expect(
      seen.lines == ["[end 0, 2 refused, 0 shown]", "corp: connected", "[override null, decision connect]", "0"], "\(seen)")
  }

  @Test("from nothing to connected by `roamward login` at a terminal: its pin is confirmed, and a wrong password is asked for again")
  func logIn() throws {
    let seen = try scene().play("GatewayClient/log-in")
    #expect(
      seen.lines == [
        "[dry: 1, 0 files]", "[no: 1]", "[1 pin, 0 files]", "[1 refused, 0 shown]", "corp: connected", "address: 10.95.0.2",
        "login:   alice, device HOST, at the gateway vpn.corp.example:51821", "644 corp.yaml", "644 trusted-networks.yaml",
        #"          server: "vpn.corp.example:51821""#, #"          pin: "PIN"   # as `roamward-gateway login show` prints it"#,
        "          username: alice", "[roamward://vpn.corp.example:51821/?user=alice&pin=PIN]",
        "[1 as it is, 1 connected, 2 files]", #"corp: not connected here: rule 1 "trusted network""#, "0",
      ], "\(seen)")
  }

  @Test("an invitation logs in once without a password; its token is in no file, and no other user of the machine sees it")
  func invitation() throws {
    let seen = try scene().play("GatewayClient/invitation")
    #expect(
      seen.lines == [
        "[roamward://vpn.corp.example:51821/?user=bob&token=TOKEN&pin=PIN]", "[1 does not accept the token]",
        "user=bob&token=\(String(repeating: "x", count: 36))", "[corp: connected,login:   bob]",
        "[0 files, login  no password and no token]", "1",
        "[0 asked for no password,corp: connected]", "[1 does not accept the token]", "1", "[nothing was changed, 2 files]",
        "this is no link of a gateway", "corp: connected", "[0 corp: connected]",
        "bob/HOST  10.95.0.2  connected by token", "0",
      ], "\(seen)")
  }

  @Test("`roamward login` names what is wrong: no agent, terminal, name, port, TLS or right pin; and Ctrl-C leaves a defined state")
  func logInRefused() throws {
    let seen = try scene().play("GatewayClient/log-in-refused")
    let networks = "/etc/roamward/policies/trusted-networks.yaml: no trusted network yet; `roamward trust` adds the one that you are on"
    #expect(
      seen.lines == [
        "[8 roamward: no agent answers at SOCKET: No such file or directory]",
        "[1]", "roamward: only root may change policies where polkit does not run (there is no system bus); run it with sudo",
        "[1 roamward: the pin of 203.0.113.10:51821 has to be confirmed, and there is no terminal]",
        "[1 roamward: nosuch.corp.example has no address: Name or service not known; check the name and the network]",
        "[1 roamward: 203.0.113.10:51999 takes no connection by TCP: Connection refused; check the port and the network: "
          + "`roamward-gateway login show` says where the gateway takes logins]",
        "[1 roamward: 203.0.113.10:8080 does not speak TLS 1.3, as a gateway's logins do; check the port]", "[0 files]", "[1 \(networks)]",
        "has another key, PIN", "the policy /etc/roamward/policies/office.yaml stays",
        "[3 /etc/roamward/policies/office.yaml: tunnel office to 203.0.113.10:51821: "
          + "pin sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= → PIN]",
        "the question stays open", "[1 pin, 2 files, password]", "office: interrupted", "end 130,  echo ", "password", "[1, 1 pin]",
        "office: connected",
        "0",
      ], "\(seen)")
  }

  @Test("while a person is asked, the engine's process waits as the provider's user in the tunnel's control group, and ends with it")
  func waiting() throws {
    let seen = try scene().play("GatewayClient/waiting")
    #expect(
      seen.lines == [
        "[Uid:1909024657 CapPrm:0000000000000000 CapEff:0000000000000000 NoNewPrivs:1]", "tunnel-office", "[it is the engine: 1]", "0",
      ], "\(seen)")
  }

  @Test("a token logs in; a removed device is asked for a login again; a wrong password needs a person")
  func refusals() throws {
    let seen = try scene().play("GatewayClient/refusals")
    #expect(seen.lines.count == 4, "\(seen)")
    #expect(seen.lines.first?.contains("by token") == true && seen.lines.last == "0", "\(seen)")
    #expect(seen.lines.dropFirst().dropLast().allSatisfy { $0.hasSuffix("(auth-failed)") }, "\(seen)")
  }

  @Test("a session that an administrator ends stops a flow at once; only another login connects the same device, with its address")
  func endedSession() throws {
    let seen = try scene().play("GatewayClient/ended-session")
    #expect(
      seen.lines.map { $0.replacing(/, .*session/, with: " session") } == [
        "[answers after that: 0]", "[alice/laptop  10.95.0.2 session ended]",
        "[the gateway 203.0.113.10:51821 has ended the session; it needs another login]", "[2 logins]", "0",
      ], "\(seen)")
  }

  @Test(
    "a question of the gateway's PAM service is shown as it is typed where its module says so, and hidden otherwise",
    .enabled(
      if: access("/usr/include/security/pam_modules.h", R_OK) == 0 && access("/usr/bin/cc", X_OK) == 0, "needs cc and libpam0g-dev"))
  func questionsOfPAM() throws {
    let seen = try scene(words: ["pam.bash"]).play("GatewayClient/questions-of-pam")
    #expect(
      seen.lines.map { $0.replacing(/asker.laptop .* by/, with: "asker/laptop by") } == [
        "[password: hidden]", "[Colour?]", "[text: shown]", "[Token?]", "[code: hidden]", "asker/laptop by password,prompt", "0",
      ], "\(seen)")
  }

  @Test("settings that the gateway changes are in force at once, a flow goes on meanwhile, also behind a firewall of the laptop")
  func changedSettings() throws {
    let seen = try scene().play("GatewayClient/changed-settings")
    #expect(
      seen.lines == [
        "[dev wlan0, mtu 1380]", "[mtu 1300]", "[and no more 10.96.0.9]", "[0% packet loss]", "[the same engine]", "[1 login]", "[1 login]",
        "0",
      ])
  }

  @Test("a packet is explained on both ends: by this machine, the tunnel, the gateway's rules and the gateway's own routes")
  func explained() throws {
    let seen = try scene().play("GatewayClient/explained")
    #expect(
      seen.lines == [
        "  pass  kernel: by 198.51.100.1 on wlan0", "it passes",
        "10.96.0.9 tcp port 443", "  pass  routes: into the tunnel office, by 10.96.0.0/16", "  pass  office: connected",
        "  pass  gateway access: allowed by rule web",
        "  pass  gateway route: on corp1, with the gateway's own address (masquerade)", "it passes",
        "it passes", "stopped at gateway access: denied by rule printers", "stopped at gateway access: denied: no rule allows it",
        "stopped at gateway route: the gateway's machine has no working route to 10.96.4.1",
        "stopped at gateway device: no device has 10.95.0.9", "it passes",
        #"[1,"stop","gateway access","denied by rule printers"]"#,
        "pass  route: by 10.96.0.7 on corp1", "note  masquerade: it leaves with the gateway's own address", "it passes",
        "the gateway did not answer within 2 s", "not known to the end", "0",
      ])
  }

  @Test("a kill switch lets the login and the tunnel's own packets pass, and nothing else") func killSwitch() throws {
    let seen = try scene().play("GatewayClient/kill-switch")
    #expect(seen.lines == ["[detected]", "[no other connection]", "[dev office]", "[0 outside, 1 login]", "0"])
  }

  @Test("under a kill switch, a browser alone reaches the page of the sign-in and nothing else, until the person has signed in")
  func signInPage() throws {
    let seen = try scene(words: ["browser.bash"]).play("GatewayClient/sign-in-page")
    #expect(
      seen.lines.map { $0.replacing(/alice.laptop .* by/, with: "alice/laptop by") } == [
        "[detected]", "roamward: office shows no page at which a person signs in; `roamward status` says what it waits for",
        "[before: 000]", "that opens mfa.example, gone.example too",
        "kill switch suspended for the page of office of the programs in GROUP; `roamward resume` re-enables it",
        "roamward: left out of the policy's hosts: gone.example",
        "kill switch: window for the sign-in of office open: 203.0.113.90:PORT, 203.0.113.91:443 outside the tunnel for the programs in "
          + "GROUP only; `roamward resume` closes it",
        "[others: 000, 000]", "[the policy's host]", "[and no others there]", "[browser elsewhere: 000000]", "[no other name server]",
        "[browser: 200]", "[0 others]", "203.0.113.80",
        "Your sign-in is linked to no user of the gateway. If you are alice there, enter the password or a token of alice at the "
          + "gateway, and it is linked. Otherwise ask its administrator.", "Answer for 203.0.113.10:51821", "office: connected", "[closed]",
        "alice/laptop by openID,password", "0",
      ])
  }

  @Test("where UDP is blocked it connects by TCP, and returns to UDP when that works again, in the same connections")
  func blockedUDP() throws {
    let seen = try scene().play("GatewayClient/blocked-udp")
    #expect(
      seen.lines == [
        "[tcp, 1 login]", "by TCP to the relay 203.0.113.10:443, because 203.0.113.10:51821 does not answer by UDP",
        "port 443, 1 connected by it", "by TCP", "[downloaded]", "[the same connection, 1 login, connected]",
        "by UDP to 203.0.113.10:51821, which answers", "1", "0",
      ])
  }

  @Test(
    "of two gateways with keys of their own the nearer one is used, and the other one after a death; one login, and nothing outside",
    .enabled(if: access("/usr/lib/postgresql", F_OK) == 0 && getpwnam("postgres") != nil, "needs PostgreSQL"))
  func sites() throws {
    let seen = try scene(words: ["sites.bash"]).play("GatewayClient/sites")
    #expect(
      seen.lines.filter { !$0.hasPrefix("dead for") } == [
        "[10.95.0.2]", "[10.95.1.2]", "[0 outside, 1 login]", #"[true,"paris",true]"#, "0",
      ], "\(seen)")
  }
}
