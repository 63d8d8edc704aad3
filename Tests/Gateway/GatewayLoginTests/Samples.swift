import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import Testing

let key = [UInt8](repeating: 7, count: 32)
let hello = LoginHello(device: "laptop", publicKey: key)

func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

extension Moment {
  static func seconds(_ count: Double) -> Moment { Moment(nanoseconds: UInt64(count * 1e9)) }
}

let grant = LoginGrant(
  user: "alice", device: "laptop", gatewayKey: [UInt8](repeating: 9, count: 32), endpoint: "vpn.example.com:51820",
  addresses: ["10.77.0.2", "fd77::2"].compactMap { IPAddress($0) },
  routes: ["10.0.0.0/8", "::/0", "fd77::/64"].compactMap { IPPrefix($0) },
  dns: ["10.1.0.53"].compactMap { IPAddress($0) }, search: ["corp.example", "example.com"], mtu: 1380, keepalive: 25)

/// A page of an OpenID provider.
let page: SignInPage = {
  let url = "https://login.example.com/enter"
  guard let page = SignInPage(url: url, completeURL: url + "?code=WDJB-MJHT", code: "WDJB-MJHT", seconds: 300) else {
    preconditionFailure("the sample is no page")
  }
  return page
}()

/// One conversation with its limits.
struct Talk {
  var conversation: LoginConversation
  var limits = LoginLimits()
  var now = Moment.seconds(1000)

  init(
    from text: String = "192.0.2.7", _ limits: LoginLimits = LoginLimits(), offers: [LoginMethod] = [.password, .token],
    isSlow: Bool = false
  ) throws {
    let interval = isSlow ? LoginConversation.slowAnswerInterval : LoginConversation.answerInterval
    conversation = LoginConversation(from: try address(text), at: .seconds(1000), offers: offers, passwordInterval: interval)
    self.limits = limits
  }

  /// At a gateway where a service checks passwords.
  init(_ limits: LoginLimits, at now: Moment) throws {
    conversation = LoginConversation(from: try address("192.0.2.7"), at: now, passwordInterval: LoginConversation.slowAnswerInterval)
    self.limits = limits
    self.now = now
  }

  mutating func say(_ message: ClientMessage) -> [LoginEffect] { conversation.receive(message, &limits, at: now) }
  mutating func answer(_ answer: LoginAnswer) -> [LoginEffect] { conversation.receive(answer, &limits, at: now) }

  /// Waits for the deadline.
  mutating func wait() throws -> [LoginEffect] {
    now = try #require(conversation.deadline)
    return conversation.expire(at: now)
  }
}
