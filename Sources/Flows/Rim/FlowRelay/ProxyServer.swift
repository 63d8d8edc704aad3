internal import Glibc
package import LinuxIO
package import NetworkTypes

/// A proxy at one address: it accepts clients, as many as it has room for, and opens their flows by an outlet.
package final class ProxyServer {
  /// Clients at a time; further ones wait in the kernel's queue.
  package static let mostClients = 1000
  /// From the first byte to an open flow.
  static let patience = Duration.seconds(30)
  /// Connections that are accepted at once.
  private static let batch = 16
  /// After a lack of descriptors.
  private static let pause = Duration.seconds(1)

  private let listener: FileDescriptor
  private let address: IPAddress
  private let outlet: any FlowOutlet
  private let loop: DescriptorLoop
  private var clients: [UInt64: ProxyClient] = [:]
  private var next: UInt64 = 0
  private var accepting: DescriptorLoop.Source?
  private var sweep: DescriptorLoop.Source?
  private var retry: DescriptorLoop.Source?

  /// `listener`: a listening socket at the address.
  package init(_ listener: FileDescriptor, at address: IPAddress, outlet: any FlowOutlet, on loop: DescriptorLoop) {
    self.listener = listener
    self.address = address
    self.outlet = outlet
    self.loop = loop
  }

  /// Serves while it is kept.
  package func begin() throws(SystemError) {
    accepting = try loop.whenReadable(listener.number) { [weak self] in self?.accept() }
  }

  private func accept() {
    for _ in 0..<Self.batch {
      guard clients.count < Self.mostClients else {
        accepting = nil
        return
      }
      do throws(SystemError) {
        guard let file = try listener.accept() else { return }
        begin(file)
      } catch {
        // The listener stays readable: it is left alone for a while.
        accepting = nil
        retry = try? loop.at(.now + Self.pause) { [weak self] in self?.goOn() }
        return
      }
    }
  }

  private func goOn() {
    retry = nil
    guard accepting == nil, clients.count < Self.mostClients else { return }
    try? begin()
  }

  private func begin(_ file: FileDescriptor) {
    let key = next
    next += 1
    let remote = file.remoteAddress
    let client = ProxyClient(
      SocketStream(file, on: loop), from: remote ?? address, at: address, outlet: outlet, on: loop, until: .now + Self.patience
    ) { [weak self] in
      self?.clients[key] = nil
      self?.goOn()
    }
    clients[key] = client
    client.begin()
    sweepLater()
  }

  /// Ends conversations whose time is over.
  private func sweepLater() {
    guard sweep == nil, let first = clients.values.compactMap(\.deadline).min() else { return }
    sweep = try? loop.at(first) { [weak self] in
      guard let self else { return }
      sweep = nil
      for client in clients.values where client.deadline.map({ $0 <= .now }) ?? false { client.expire() }
      sweepLater()
    }
  }
}
