internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

/// A machine in memory, whose clock a test sets.
final class MemoryBackend: HostBackend {
  var now = Moment(nanoseconds: 1_000_000_000_000)
  var wakeTime: Moment?
  var toAgent: [[UInt8]] = []
  var endReason: String?

  func send(_ message: [UInt8]) { toAgent.append(message) }

  func wake(at moment: Moment?) { wakeTime = moment }

  func secret(_ descriptor: AnyObject) -> [UInt8]? { (descriptor as? MemorySecret)?.bytes }

  func flow(_ descriptor: AnyObject, interface: String, mtu: Int) -> (any ClosableFlow)? { descriptor as? MemoryFlow }

  func socket(_ descriptor: AnyObject, _ transport: Transport, remote: Endpoint) -> (any OutsideSocket)? { descriptor as? MemorySocket }

  func end(reason: String?) { endReason = endReason ?? reason ?? "the program ended" }
}

/// The content of a readable descriptor.
final class MemorySecret {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }
}
