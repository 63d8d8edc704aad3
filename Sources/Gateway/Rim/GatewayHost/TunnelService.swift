internal import GatewayCore
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// The datagrams of the gateway inside the tunnel: settings and ends of sessions to devices, their greetings and questions.
final class TunnelService {
  private let port: TunnelPort
  private let sender: SettingsSender
  private let directory: () -> Directory
  private var questions: QuestionService

  init(on loop: EventLoop, _ key: SecretKey, relayPort: @escaping () -> UInt16?, directory: @escaping () -> Directory) {
    port = TunnelPort(on: loop)
    sender = SettingsSender(on: loop, key, by: port, relayPort: relayPort, directory: directory)
    questions = QuestionService(key)
    self.directory = directory
    port.take = { [weak self] in self?.take($0, from: $1) }
  }

  private func take(_ datagram: [UInt8], from source: IPAddress) {
    if datagram.isEmpty { return sender.greet(from: source) }
    guard let answer = questions.answer(datagram, from: source, directory()) else { return }
    port[source.family]?.send(answer, to: source, port: SettingsPush.port)
  }

  /// After a look at the link.
  func look(at device: WireGuardState?) { sender.look(at: device) }

  /// After a look at the link, which is there.
  func open(on link: String) { port.open(on: link, directory().families) }

  /// Sends settings to devices where they have changed.
  func record(_ reach: ChangeReach) {
    if reach != .devices([]) { sender.record(reach) }
  }

  /// Those of ended logins whose devices can be told.
  func connected(_ logins: [EndedLogin]) -> [EndedLogin] { sender.connected(logins) }

  func end(_ logins: [EndedLogin]) { sender.end(logins) }
}
