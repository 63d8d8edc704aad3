internal import GatewayCore
internal import GatewayLogin
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

/// Answers devices' questions about their own packets, by the evaluation that `roamward-gateway evaluate` uses
/// (docs/decisions/0067-both-ends-of-a-tunnel-explain-what-happens-to-a-packet.md).
struct QuestionService {
  private let key: SecretKey
  private let routes = HostRoutes()
  private var budget = QuestionBudget()

  init(_ key: SecretKey) { self.key = key }

  /// The answer and its destination; `nil`: this is no question of the device that has the address, or one too many.
  mutating func answer(_ datagram: [UInt8], from source: IPAddress, _ directory: Directory) -> [UInt8]? {
    // A multiplication on the curve, so the budget comes first.
    guard let device = directory.lease(of: source)?.device.flatMap({ directory.devices[$0] }), let site = directory.site,
      budget.take(device.id, at: .now)
    else { return nil }
    let (gateway, own) = (site.publicKey.bytes, device.publicKey.bytes)
    let label = PacketQuestion.label(gateway: gateway, device: own)
    guard let question = PacketQuestion(datagram, { key.seal($0, with: own, label: label) }) else { return nil }
    return PacketAnswer(question, directory, device, routes).datagram {
      key.seal($0, with: own, label: PacketAnswer.label(gateway: gateway, device: own))
    }
  }
}

extension PacketAnswer {
  fileprivate init(_ question: PacketQuestion, _ directory: Directory, _ device: Device, _ routes: HostRoutes) {
    let transport: Transport =
      switch question.transport {
      case 6: .tcp
      case 17: .udp
      default: .icmp
      }
    let evaluation = PacketEvaluation(
      directory, device, to: question.destination, transport, port: question.port == 0 ? nil : question.port,
      at: Timestamp.now.wholeSecond, path: { routes.path(from: $0, to: question.destination, in: directory) })
    self.init(evaluation, to: question.number)
  }
}
