import JSON
import NetworkTypes
import ProviderProtocol
import Testing

@Suite struct MessageCodingTests {
  @Test("each message of the agent is the same after writing and reading", arguments: Samples.agent)
  func agent(message: AgentMessage) throws {
    #expect(try AgentMessage(decoding: message.encoded()) == message)
  }

  @Test("each message of a provider is the same after writing and reading", arguments: Samples.provider)
  func provider(message: ProviderMessage) throws {
    #expect(try ProviderMessage(decoding: message.encoded()) == message)
  }

  @Test("a missing member and an unknown one are errors, in each object of each message") func strict() throws {
    var count = 0
    for bytes in try Samples.provider.map({ try $0.encoded() }) {
      for changed in Self.withoutAMember(try JSON(parsing: bytes)) {
        count += 1
        #expect(throws: MessageError.self, "\(changed.text())") { try ProviderMessage(decoding: Array(changed.text().utf8)) }
      }
    }
    for bytes in try Samples.agent.map({ try $0.encoded() }) {
      for changed in Self.withoutAMember(try JSON(parsing: bytes)) {
        count += 1
        #expect(throws: MessageError.self, "\(changed.text())") { try AgentMessage(decoding: Array(changed.text().utf8)) }
      }
    }
    #expect(count > 150)
  }

  /// The value with a member less, and with one more, at each place where the protocol, not a program, says what there is.
  private static func withoutAMember(_ json: JSON) -> [JSON] {
    guard case .object(let members) = json else { return [] }
    var found: [JSON] = [.object(members + [.init(key: "extra", value: 1)])]
    for (index, member) in members.enumerated() {
      var fewer = members
      fewer.remove(at: index)
      found.append(.object(fewer))
      // Programs decide what is in these.
      if ["options", "data", "value"].contains(member.key) { continue }
      for inner in withoutAMember(member.value) {
        var changed = members
        changed[index].value = inner
        found.append(.object(changed))
      }
    }
    return found
  }

  @Test(
    "values out of bounds are errors that name their member",
    arguments: [
      (#"{"type":"withdraw","id":0}"#, "id"), (#"{"type":"withdraw","id":2147483648}"#, "id"), (#"{"type":"withdraw","id":1.0}"#, "id"),
      (#"{"type":"withdraw","id":"1"}"#, "id"), (#"{"type":"withdraw","id":null}"#, "id"),
      (#"{"type":"reasserting","code":"Peer","text":""}"#, "code"), (#"{"type":"reasserting","code":"","text":""}"#, "code"),
      (#"{"type":"resolve","id":1,"name":"a..b"}"#, "name"), (#"{"type":"keep","content":"SGVsbG8"}"#, "content"),
      (#"{"type":"open-socket","id":1,"transport":"udp","remote":"example.org:1"}"#, "remote"),
      (#"{"type":"open-socket","id":1,"transport":"sctp","remote":"192.0.2.1:1"}"#, "transport"),
      (#"{"type":"ask","id":1,"kind":"url","prompt":"","url":null}"#, "url"),
      (#"{"type":"ask","id":1,"kind":"url","prompt":"","url":"javascript:1"}"#, "url"),
      (#"{"type":"ask","id":1,"kind":"code","prompt":"","url":"https://example.org"}"#, "url"),
      (#"{"type":"failed","code":"a","text":"","help":"time","retry-after-ms":86400001}"#, "retry-after-ms"),
      (#"{"type":"reply","id":1,"result":{"content":{"bytes":"AA="}}}"#, "result.content.bytes"),
      (#"{"type":"reply","id":1,"result":{"content":{"bytes":"AB=="}}}"#, "result.content.bytes"),
      (#"{"type":"hello","versions":[2,1],"program":""}"#, "versions"), (#"{"type":"hello","versions":[1],"program":""}"#, "versions"),
    ])
  func bounds(text: String, member: String) throws {
    do {
      _ = try ProviderMessage(decoding: Array(text.utf8))
      Issue.record("accepted: \(text)")
    } catch {
      guard case .invalid(let found, _) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(found == member)
    }
  }

  @Test("settings have bounds: lists, numbers, and the smallest packet of IPv6") func settings() throws {
    func error(_ change: (inout TunnelSettings) -> Void) -> MessageError? {
      var settings = TunnelSettings()
      change(&settings)
      do {
        _ = try ProviderMessage(decoding: ProviderMessage.settings(id: 1, settings).encoded())
        return nil
      } catch { return error }
    }
    let route = try #require(IPPrefix("192.0.2.0/24"))
    #expect(error { $0.includedRoutes = Array(repeating: route, count: 1024) } == nil)
    #expect(error { $0.includedRoutes = Array(repeating: route, count: 1025) } != nil)
    #expect(error { $0.mtu = 575 } != nil && error { $0.mtu = 65_536 } != nil && error { $0.overhead = 513 } != nil)
    #expect(error { $0.mtu = 576 } == nil)
    let v6 = try #require(InterfaceAddress("2001:db8::1/64"))
    #expect(error { ($0.mtu, $0.addresses) = (1279, [v6]) } != nil && error { ($0.mtu, $0.addresses) = (1280, [v6]) } == nil)
    #expect(error { $0.addresses = Array(repeating: v6, count: 17) } != nil)
    #expect(error { $0.dns = DNSSettings(servers: []) } != nil)
    let long = try #require(IPPrefix("2001:db8:1111:2222:3333:4444:5555:6666/128"))
    let full = error { ($0.includedRoutes, $0.excludedRoutes) = (Array(repeating: long, count: 1024), Array(repeating: long, count: 1024)) }
    guard case .tooLong = full else {
      Issue.record("\(String(describing: full))")
      return
    }
  }

  @Test("too long, too deep, no JSON, no object, no type, a foreign type, two members of one name") func malformed() {
    func error(_ text: String) -> String {
      do {
        _ = try ProviderMessage(decoding: Array(text.utf8))
        return "none"
      } catch { return String("\(error)".prefix(24)) }
    }
    let deep = #"{"type":"event","name":"a","data":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}"
    #expect(error(deep) == "the message is nested de")
    #expect(error(String(repeating: "[", count: 60_000)) == "the message is nested de")
    #expect(error(#"{"type":"log""# + String(repeating: " ", count: 65_536) + "}") == "the message has 65550 by")
    #expect(error("") == "the message is not JSON:" && error("[]") == "the message is not a JSO" && error("{}") == "`type` is missing")
    #expect(
      error(#"{"type":"start"}"#) == "there is no message of t" && error(#"{"type":"ready","type":"ready"}"#) == "the message is not JSON:")
    #expect(error(#"{"type":"ready"} "#) == "none")
    // Brackets in strings are text.
    #expect(error(#"{"type":"event","name":"a","data":"\"# + "\"" + String(repeating: "[", count: 100) + #""}"#) == "none")
  }

  @Test("base64 is RFC 4648's, with one text for each sequence of bytes") func base64() throws {
    for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")] {
      let message = AgentMessage.message(id: 1, .bytes(Array(bytes.utf8)))
      #expect(try String(decoding: message.encoded(), as: UTF8.self) == #"{"type":"message","id":1,"content":{"bytes":"\#(text)"}}"#)
      #expect(try AgentMessage(decoding: message.encoded()) == message)
    }
    for text in ["Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm 9", "Zm9v\n", "Zg==Zg=="] {
      #expect(throws: MessageError.self, "\(text)") {
        try AgentMessage(decoding: Array(#"{"type":"message","id":1,"content":{"bytes":"\#(text)"}}"#.utf8))
      }
    }
  }
}
