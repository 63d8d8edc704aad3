import JSON
import NetworkTypes
import ProviderProtocol

/// A message of each kind, with each optional value once present and once absent.
enum Samples {
  static let path = NetworkPath(
    interface: "wlan0", kind: .wifi, isMetered: false, addresses: [InterfaceAddress("192.0.2.7/24")].compactMap(\.self))

  static let settings = TunnelSettings(
    remoteAddress: IPAddress("203.0.113.9"), addresses: ["10.9.0.2/24", "2001:db8:9::2/64"].compactMap { InterfaceAddress($0) },
    includedRoutes: ["10.0.0.0/8", "2001:db8::/32"].compactMap { IPPrefix($0) },
    excludedRoutes: [IPPrefix("10.1.0.0/16")].compactMap(\.self),
    mtu: 1400, overhead: 48,
    dns: DNSSettings(
      servers: [IPAddress("10.0.0.53")].compactMap(\.self), searchDomains: [DomainName("corp.example")].compactMap(\.self),
      matchDomains: [DomainName("example")].compactMap(\.self)),
    proxies: ProxySettings(
      autoConfiguration: "https://example.org/proxy.pac", http: Endpoint("10.0.0.3:3128"), https: Endpoint("proxy.example:3128"),
      excludedDomains: [DomainName("local.example")].compactMap(\.self), excludesSimpleNames: true))

  static let agent: [AgentMessage] = [
    .hello(version: 1, tunnel: "corp"), .credential(name: "password"),
    .start(StartRequest(options: ["server": "198.51.100.1:9999"], network: path, mayAsk: true)), .start(StartRequest()),
    .stop(.person), .sleep, .wake, .network(path), .network(nil),
    .applied(id: 1, refused: [RefusedSetting(setting: "included-routes", value: "10.0.0.0/8", code: "policy")]),
    .refused(id: 2, Refusal(code: "unreachable", text: "no route")), .device(id: 3, interface: "rw-corp", mtu: 1400), .socket(id: 4),
    .xfrm(id: 5, XFRMLink(interface: "rw-corp", identifier: 7, mark: 0x5200_0000, mask: 0xff00_0000)),
    .addresses(id: 5, ["198.51.100.1", "2001:db8::1"].compactMap { IPAddress($0) }), .answer(id: 6, .answered),
    .message(id: 1, .bytes([0, 255, 7])), .message(id: 2, .typed("statistics", ["a": [1, 2.5, true, .null, "b"]])),
  ]

  static let provider: [ProviderMessage] = [
    .hello(versions: 1...1, program: "plain-udp 1.0"), .settings(id: 1, settings), .settings(id: 2, TunnelSettings()), .ready,
    .reasserting(code: "peer-timeout", text: "no answer for 15 s"),
    .failed(TunnelFailure(code: "auth-failed", text: "wrong password", help: .person)),
    .failed(TunnelFailure(code: "busy", text: "the server is full", help: .time, retryAfter: .milliseconds(30_500))), .stopped, .asleep,
    .ask(id: 7, Question(kind: .password, prompt: "Password for alice")),
    .ask(id: 7, Question(kind: .text, prompt: "Office or warehouse?")),
    .ask(id: 8, Question(kind: .url, prompt: "Sign in", url: "https://example.org/login")), .withdraw(id: 8), .openDevice(id: 9),
    .openXFRM(id: 10),
    .openSocket(id: 10, .udp, Endpoint(host: .address(IPAddress(v4: 0xc633_6401)), port: 9999)),
    .reply(id: 1, .success(.bytes([1, 2]))), .reply(id: 2, .success(nil)),
    .reply(id: 3, .failure(Refusal(code: "unknown-type", text: "no such type"))), .event(name: "peer-joined", data: ["name": "a"]),
    .keep([7, 0, 255]), .keep([]), .transport(text: "by TCP"), .transport(text: ""),
    .validity(Validity("the certificate laptop", from: 0, until: Validity.latest)), .validity(Validity("it", until: 1_798_761_600)),
    .log(LogLine(level: .warning, origin: "handshake", text: "twice")),
  ]
}
