import JSON
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting

/// A tunnel to nowhere: each packet comes back.
final class Echo: TunnelProvider {
  let host: ProviderHost

  init(host: ProviderHost) { self.host = host }

  func start(_ request: StartRequest) {
    host.apply(TunnelSettings(addresses: [InterfaceAddress("10.9.0.2/24")].compactMap(\.self))) { _ in }
    host.openDevice { [host] result in
      guard let flow = try? result.get() else { return }
      flow.readPackets { [weak flow] in flow?.writePackets($0) }
      host.ready()
    }
  }

  func stop(_ reason: StopReason) { host.stopped() }

  func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) { reply(.success(message)) }
}

// In memory. As a program it would be: exit(ProviderProgram.run(Echo.self, program: "echo 1.0"))
let host = MemoryHost(Echo.self)
host.start()
print("state: \(host.state), address: \(host.settings?.addresses.first?.description ?? "none")")
if let packet = Packet([0x45] + [UInt8](repeating: 0, count: 27)) {
  host.flow?.deliver([packet])
  print("returned \(host.flow?.written.first?.bytes.count ?? 0) bytes, unchanged: \(host.flow?.written == [packet])")
}
let message = host.send(.typed("greeting", ["text": "hello"]))
if case .success(.typed(_, let value)) = host.replies[message] { print("reply: \(value.text())") }
host.stop()
print("ended: \(host.ends == [.stopped(inTime: true)])")
