internal import CLinux
internal import CProviderIO
internal import Glibc
package import LinuxIO
package import NetworkTypes
package import ProviderProtocol

/// The real machine: the channel, and descriptors that came by it.
package final class ChannelBackend: HostBackend {
  /// Bytes that may wait for an agent that does not read. Then it never will.
  private static let longestQueue = 4 << 20

  package weak var host: ProviderHost?
  private let channel: MessageChannel
  package let loop: DescriptorLoop
  private var unsent: [[UInt8]] = []
  private var unsentBytes = 0
  /// Whether the loop wakes when the channel takes messages: only while some wait.
  package private(set) var isWatchingWrites = false
  private var reading: DescriptorLoop.Source?
  private var timer: DescriptorLoop.Source?

  package init(_ descriptor: FileDescriptor) throws(SystemError) {
    guard cproviderio_set_nonblocking(descriptor.number) == 0 else { throw .last("use the channel") }
    channel = MessageChannel(descriptor)
    loop = try DescriptorLoop()
    try watch(forWriting: false)
  }

  package func run() throws(SystemError) -> Int32 { try loop.run() }

  package var now: Moment { .now }

  // MARK: The channel

  private func watch(forWriting: Bool) throws(SystemError) {
    reading = nil
    isWatchingWrites = forWriting
    let events = clinux_readable | (forWriting ? clinux_writable : 0)
    reading = try loop.whenReady(channel.descriptor.number, events: events) { [weak self] ready in
      guard let self else { return }
      if ready & clinux_writable != 0 { flush() }
      if ready & ~clinux_writable != 0 { receive() }
    }
  }

  private func receive() {
    // A bounded number, so that packets have their turn.
    for _ in 0..<16 {
      do throws(SystemError) {
        switch try channel.receive(takesDescriptors: true) {
        case .message(let bytes, let descriptor): host?.receive(bytes, descriptor)
        case .nothing: return
        case .ended: return loop.stop()
        }
      } catch {
        return end(reason: "\(error)")
      }
    }
  }

  package func send(_ message: [UInt8]) {
    unsent.append(message)
    unsentBytes += message.count
    if unsent.count == 1 { flush() }
    if unsentBytes > Self.longestQueue { end(reason: "the agent reads no messages") }
  }

  private func flush() {
    do throws(SystemError) {
      while let message = unsent.first {
        try channel.send(message)
        unsent.removeFirst()
        unsentBytes -= message.count
      }
      if isWatchingWrites { try watch(forWriting: false) }
    } catch {
      switch error.code {
      case EAGAIN: waitForRoom()
      case EPIPE, ECONNRESET: loop.stop()
      default: end(reason: "\(error)")
      }
    }
  }

  private func waitForRoom() {
    guard !isWatchingWrites else { return }
    do throws(SystemError) { try watch(forWriting: true) } catch { end(reason: "\(error)") }
  }

  package func end(reason: String?) {
    if let reason { ProviderProgram.complain(reason) }
    loop.stop(code: reason == nil ? 0 : 1)
  }

  // MARK: The clock

  package func wake(at moment: Moment?) {
    timer = nil
    guard let moment else { return }
    do throws(SystemError) {
      timer = try loop.at(moment) { [weak self] in self?.host?.advance() }
    } catch {
      end(reason: "\(error)")
    }
  }

  // MARK: Descriptors

  package func secret(_ descriptor: AnyObject) -> [UInt8]? {
    guard let file = descriptor as? FileDescriptor else { return nil }
    var bytes: [UInt8] = []
    while bytes.count <= ProtocolLimits.secret {
      guard let read = try? file.read(atMost: ProtocolLimits.secret + 1) else { return nil }
      if read.isEmpty { return bytes }
      bytes += read
    }
    return nil
  }

  package func flow(_ descriptor: AnyObject, interface: String, mtu: Int) -> (any ClosableFlow)? {
    guard let file = descriptor as? FileDescriptor else { return nil }
    return DeviceFlow(file, interface: interface, mtu: mtu, on: loop)
  }

  package func socket(_ descriptor: AnyObject, _ transport: Transport, remote: Endpoint) -> (any OutsideSocket)? {
    guard let file = descriptor as? FileDescriptor, cproviderio_set_nonblocking(file.number) == 0 else { return nil }
    switch transport {
    case .udp: return DatagramSocket(file, remote: remote, on: loop)
    case .tcp: return StreamSocket(file, remote: remote, on: loop)
    }
  }
}
