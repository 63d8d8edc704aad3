import NetworkTypes
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicyImport

/// Mistakes of public profiles, each as the structure that was found, and its treatment.
@Suite struct TrapTests {
  private let connect: P = [["Action": "Connect"]]

  @Test("1: a signed profile is unwrapped, and its signer told", arguments: ["signed.mobileconfig", "signed-ber.mobileconfig"])
  func signed(file: String) throws {
    let result = try importFile(fixture(file), file: file, options: ImportOptions())
    #expect(result.report.signature?.signers == ["CN=Profile Signing (test),O=Example Corp"])
    #expect(result.report.signature?.standing == .notVerified)
    #expect(try result.tunnel().onDemand.rules.count == 3)
  }

  @Test("2: comments before the XML declaration are skipped, with a warning and the right lines") func comments() throws {
    let text = "<!-- a\nb -->\n" + xmlText(profile(on([["Action": "Connect", "InterfaceTypeMatch": "Modem"]])).property)
    let result = try importFile(Array(text.utf8), file: "x.mobileconfig", options: ImportOptions())
    #expect(result.says(.warning, "before the XML declaration"))
    let line = text.split(separator: "\n", omittingEmptySubsequences: false).firstIndex { $0.contains("Modem") }
    #expect(result.report.entries.first { $0.key.hasSuffix("InterfaceTypeMatch") }?.line == line.map { $0 + 1 })
  }

  @Test(
    "3: the switch may be a number or a boolean",
    arguments: [(1, true), (0, false), (true, true), (false, false), (1.0, true)] as [(P, Bool)])
  func switches(value: P, isOn: Bool) throws {
    let result = try importing(profile(["OnDemandEnabled": value, "OnDemandRules": connect]))
    #expect(try result.tunnel().onDemand.isEnabled == isOn)
  }

  @Test("4: PayloadVersion may be a real") func realVersion() throws {
    let payload = vpnPayload(on(connect)).without("PayloadVersion").with(["PayloadVersion": 1.0])
    #expect(try !importing(profile(payloads: [payload])).report.hasErrors)
  }

  @Test("5: rules at the payload's root count, with a warning") func payloadRoot() throws {
    let result = try importing(profile(["RemoteAddress": "vpn.example.com"], payload: ["OnDemandEnabled": 1, "OnDemandRules": connect]))
    #expect(try result.tunnel().onDemand.rules.map(\.action) == [.connect])
    #expect(result.says(.warning, "belongs into the dictionary of the type"))
  }

  @Test("6: rules at the profile's root do not count, and that is told") func profileRoot() throws {
    let result = try importing(
      profile(payloads: [vpnPayload(["RemoteAddress": "vpn.example.com"])], root: ["OnDemandEnabled": 1, "OnDemandRules": connect]))
    #expect(try result.tunnel().onDemand.rules.isEmpty)
    #expect(result.says(.warning, "no effect on Apple's systems"))
  }

  @Test("7: switched off, the rules are kept", arguments: [true, false]) func switchedOff(isSaid: Bool) throws {
    let result = try importing(profile(isSaid ? ["OnDemandEnabled": 0, "OnDemandRules": connect] : ["OnDemandRules": connect]))
    let onDemand = try result.tunnel().onDemand
    #expect(!onDemand.isEnabled && onDemand.rules.count == 1)
  }

  @Test("8: an empty interface type is an error, and not any") func emptyInterface() throws {
    let result = try importing(profile(on([["Action": "Connect", "InterfaceTypeMatch": ""]])))
    #expect(result.says(.error, "not the same as any"))
    let onDemand = try result.tunnel().onDemand
    #expect(!onDemand.isEnabled && onDemand.rules.isEmpty)
  }

  @Test("9: rules without an action are errors, one each, that explain") func noAction() throws {
    let result = try importing(profile(on([["InterfaceTypeMatch": "WiFi"], ["SSIDMatch": ["Home"]], ["Action": "Connect"]])))
    #expect(result.report.entries.count { $0.weight == .error && $0.text.contains("has to say its `Action`") } == 2)
    #expect(try !result.tunnel().onDemand.isEnabled)
  }

  @Test("10: parameters that are no list, and words with blanks, are errors with a hint") func parameters() throws {
    let dictionary = try importing(
      profile(on([["Action": "EvaluateConnection", "ActionParameters": ["Domains": ["a.example"], "DomainAction": "NeverConnect"]]])))
    #expect(dictionary.says(.error, "put the dictionary into an <array>"))
    let word = try importing(
      profile(on([["Action": "EvaluateConnection", "ActionParameters": [["Domains": ["a.example"], "DomainAction": "Never Connect"]]]])))
    #expect(word.says(.error, "did you mean `NeverConnect`?"))
  }

  @Test("11: names on a rule that connects are ignored, as Apple does, and loudly") func domainsOnConnect() throws {
    let result = try importing(
      profile(on([["Action": "Connect", "Domains": ["corp.example"], "DomainAction": "ConnectIfNeeded"]])))
    #expect(try result.tunnel().onDemand.rules.map(\.match) == [.always])
    #expect(result.says(.warning, "connects for every destination"))
  }

  @Test("12: an SSID is no wildcard") func anySSID() throws {
    let result = try importing(profile(on([["Action": "Connect", "SSIDMatch": ["AnySSID"]]])))
    #expect(try result.tunnel().onDemand.rules.first?.match == .all([.ssid([#require(SSID("AnySSID"))])]))
    #expect(result.says(.warning, "no wildcard"))
  }

  @Test("13: an empty list counts as absent, with a warning", arguments: ["SSIDMatch", "DNSDomainMatch", "DNSServerAddressMatch"])
  func emptyList(key: String) throws {
    let rule: P = ["Action": "Connect"]
    let result = try importing(profile(on(.value(Property(.array([rule.with([key: []]).property]))))))
    #expect(try result.tunnel().onDemand.rules.map(\.match) == [.always])
    #expect(result.says(.warning, "read as absent"))
  }

  @Test(
    "14: SSIDs with entities and outside ASCII are compared as bytes",
    arguments: ["A & B", "<Café>", "\"家\"", "naïve\u{301}", "no", "0123"])
  func entities(name: String) throws {
    let result = try importing(profile(on([["Action": "Disconnect", "SSIDMatch": [P(stringLiteral: name)]]])))
    #expect(try result.tunnel().onDemand.rules.first?.match == .all([.ssid([#require(SSID(bytes: Array(name.utf8)))])]))
  }

  @Test("15: a payload of an invented type is skipped with the reason, unless it is accepted") func wrongType() throws {
    let payload = vpnPayload(on(connect)).without("PayloadType").with(["PayloadType": "example.vpn"])
    let skipped = try importing(profile(payloads: [payload]))
    #expect(skipped.tunnels.isEmpty && skipped.says(.warning, "--accept-payload-type"))
    let accepted = try importing(profile(payloads: [payload]), ImportOptions(acceptedPayloadType: "example.vpn"))
    #expect(try accepted.tunnel().onDemand.rules.count == 1)
  }

  @Test("16: several payloads become several tunnels, in their order") func severalPayloads() throws {
    let result = try importing(
      profile(payloads: [vpnPayload(on(connect), type: "IKEv2"), vpnPayload(on([["Action": "Disconnect"]]), type: "IPSec")]))
    #expect(result.tunnels.map(\.name) == ["corp", "corp-2"])
    // Policies are in the order of their files' names.
    #expect(result.policies().tunnels.map { $0.onDemand.rules.map(\.action) } == [[.disconnect], [.connect]])
    #expect(result.says(.warning, "2 payloads"))
  }

  @Test("17: DisconnectOnIdle at the payload's root counts, with a warning") func idleAtRoot() throws {
    let result = try importing(profile(on(connect), payload: ["DisconnectOnIdle": 1, "DisconnectOnIdleTimer": 90]))
    #expect(try result.tunnel().onDemand.timing.idle == .seconds(90))
    #expect(result.says(.warning, "DisconnectOnIdle stands at the payload's root"))
  }

  @Test(
    "18: a probe that cannot succeed means always for these names", arguments: ["0.0.0.0", "http://0.0.0.0", "corp", "https://x.invalid/"])
  func probeIdiom(url: String) throws {
    let result = try importing(
      profile(
        on([
          [
            "Action": "EvaluateConnection",
            "ActionParameters": [
              ["Domains": ["corp.example"], "DomainAction": "ConnectIfNeeded", "RequiredURLStringProbe": P(stringLiteral: url)]
            ],
          ]
        ])))
    #expect(try result.tunnel().onDemand.rules.first?.connections.map(\.action) == [.connectAlways])
    #expect(result.says(.warning, "connect-always"))
  }

  @Test("18: a rule whose probe cannot succeed never holds") func deadProbe() throws {
    let result = try importing(profile(on([["Action": "Disconnect", "URLStringProbe": "beacon"], ["Action": "Connect"]])))
    #expect(try result.tunnel().onDemand.rules.map(\.action) == [.connect])
    #expect(result.says(.warning, "can never hold"))
  }

  @Test("19: secrets go into files for root alone, and nowhere else") func secrets() throws {
    let secrets = ["not-a-secret-psk", "not-a-secret-password", Samples.privateKey, "not-a-secret-p12"]
    var identity: P = ["PayloadType": "com.apple.security.pkcs12", "Password": "not-a-secret-p12"]
    identity = identity.with(["PayloadContent": .value(Property(.data([1, 2, 3])))])
    let vendor: P = ["WgQuickConfig": P(stringLiteral: Samples.wireGuard)]
    let result = try importing(
      profile(payloads: [
        vpnPayload(["SharedSecret": "not-a-secret-psk", "AuthPassword": "not-a-secret-password"], type: "IKEv2"), identity,
        vpnPayload(on(connect), payload: ["VPNSubType": "com.wireguard.ios", "VendorConfig": vendor]),
      ]))
    for secret in secrets {
      #expect(!result.shownText.contains(secret))
      #expect(result.files.contains { $0.isSecret && String(decoding: $0.bytes, as: UTF8.self).contains(secret) })
    }
    #expect(result.files.contains { $0.isSecret && $0.bytes == [1, 2, 3] })
  }

  @Test("19: neither an invented key of a rule nor a URL brings a secret into the policy's comments") func secretsInRules() throws {
    let names: P = [["Domains": ["a.example"], "DomainAction": "ConnectIfNeeded", "RequiredURLStringProbe": "me:not-a-secret@host"]]
    let result = try importing(
      profile(
        on([
          ["Action": "Connect", "SSIDMatch": ["a"], "Password": "not-a-secret"],
          ["Action": "EvaluateConnection", "ActionParameters": names],
        ])))
    #expect(!result.shownText.contains("not-a-secret") && result.shownText.contains("(hidden)"))
    let url = try importing(profile(on([["Action": "Connect", "URLStringProbe": "https://me:not-a-secret@beacon.example/"]])))
    #expect(url.report.hasErrors && !url.shownText.contains("not-a-secret"))
  }

  @Test("20: placeholders turn the tunnel off", arguments: ["REPLACE_SERVER", "${SERVER}", "{{ server }}", "<%= host %>", "YOUR_SERVER"])
  func placeholders(text: String) throws {
    let result = try importing(profile(on(connect).with(["RemoteAddress": P(stringLiteral: text)]), type: "IKEv2"))
    #expect(result.says(.error, "RemoteAddress is a placeholder"))
    #expect(try !result.tunnel().isEnabled)
  }

  @Test("21: addresses among names are told") func addresses() throws {
    let result = try importing(
      profile(
        on([
          [
            "Action": "EvaluateConnection",
            "ActionParameters": [["Domains": ["192.0.2.1", "2001:db8::1", "a.example"], "DomainAction": "ConnectIfNeeded"]],
          ]
        ])))
    #expect(try result.tunnel().onDemand.rules.first?.connections.first?.domains.map(\.description) == ["192.0.2.1", "a.example"])
    #expect(result.report.entries.count { $0.weight == .warning && $0.text.contains("no look-up asks for") } == 2)
  }

  @Test("22: the lists of before the rules become a last rule; exceptions come first") func legacyLists() throws {
    let result = try importing(
      profile([
        "OnDemandEnabled": 1, "OnDemandMatchDomainsAlways": ["a.example"], "OnDemandMatchDomainsOnRetry": ["b.example"],
        "OnDemandMatchDomainsNever": ["vpn.a.example"], "OnDemandRules": [["Action": "Disconnect", "SSIDMatch": ["Home"]]],
      ]))
    let rules = try result.tunnel().onDemand.rules
    #expect(rules.map(\.action) == [.disconnect, .evaluateConnection])
    #expect(rules.last?.connections.map(\.action) == [.neverConnect, .connectIfNeeded])
    #expect(rules.last?.connections.map { $0.domains.map(\.description) } == [["vpn.a.example"], ["a.example", "b.example"]])
  }

  @Test("22: `Allow`, and an evaluation without parameters, use the lists", arguments: ["Allow", "EvaluateConnection"])
  func allow(action: String) throws {
    let result = try importing(
      profile([
        "OnDemandEnabled": 1, "OnDemandMatchDomainsOnRetry": ["b.example"], "OnDemandRules": [["Action": P(stringLiteral: action)]],
      ]))
    let rules = try result.tunnel().onDemand.rules
    #expect(rules.count == 1 && rules.first?.action == .evaluateConnection && rules.first?.connections.count == 1)
  }

  @Test("23: encrypted payloads are refused") func encrypted() throws {
    let base: P = ["PayloadType": "Configuration"]
    let result = try importing(base.with(["EncryptedPayloadContent": .value(Property(.data([1])))]))
    #expect(result.tunnels.isEmpty && result.says(.error, "encrypted"))
  }

  @Test("24: invented keys are told") func inventedKeys() throws {
    let result = try importing(
      profile(on([["Action": "Connect", "AppDomainMatch": ["a"]]]).with(["OnDemandMatchAppOnDemandRules": connect])))
    #expect(result.says(.warning, "OnDemandRules[0].AppDomainMatch"))
    #expect(result.says(.warning, "OnDemandMatchAppOnDemandRules"))
  }
}
