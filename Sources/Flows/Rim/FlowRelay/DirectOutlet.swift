package import FlowProtocol
internal import Glibc
internal import KernelModel
package import LinuxIO
package import NetworkTypes
internal import ResolverLibrary

/// Ordinary sockets of this process: its control group and the routes decide which way their packets go.
package final class DirectOutlet: FlowOutlet {
  private let loop: DescriptorLoop
  private let lookUps: NameLookUps
  private let needsRoute: Bool

  /// Opens what needs files; to be called before a confinement that leaves none.
  ///
  /// - Parameter needsRoute: flows are opened only while new sockets of this process have a route of their own (`roamward run`, `apps`).
  package init(on loop: DescriptorLoop, needsRoute: Bool) throws(SystemError) {
    self.loop = loop
    self.needsRoute = needsRoute
    lookUps = try NameLookUps(on: loop)
  }

  package func connect(to endpoint: Endpoint, then: @escaping (Result<any FlowStream, FlowFailure>) -> Void) -> any FlowAttempt {
    guard mayOpen() else { return LaterAnswer(on: loop) { then(.failure(.unrouted)) } }
    let attempt = ConnectionAttempt(to: endpoint.port, on: loop, then)
    find(endpoint.host) { [weak attempt] addresses in attempt?.begin(addresses) }
    return attempt
  }

  package func datagrams(
    then: @escaping (Result<any FlowDatagrams, FlowFailure>) -> Void, deliver: @escaping (DatagramEvent) -> Void
  ) -> any FlowAttempt {
    guard mayOpen() else { return LaterAnswer(on: loop) { then(.failure(.unrouted)) } }
    let datagrams = DirectDatagrams(on: loop, find: { [weak self] in self?.find($0, then: $1) }) { deliver(.came($0)) }
    return LaterAnswer(on: loop) { then(.success(datagrams)) }
  }

  /// Asked for each flow before its first socket, because the agent may mark a service's group after its start.
  private func mayOpen() -> Bool { !needsRoute || Ownership.isProgram(mark: StreamSocket.markOfNew) }

  /// Calls back with the addresses of a host, never during the call. None: the name has none.
  private func find(_ host: Endpoint.Host, then: @escaping ([IPAddress]) -> Void) {
    switch host {
    case .address(let address):
      // The closure keeps the source until it was called.
      var later: DescriptorLoop.Source?
      later = try? loop.at(.now) {
        later = nil
        then([address])
      }
      withExtendedLifetime(later) {}
    case .name(let name):
      lookUps.refresh()
      lookUps.find(name) { addresses, _ in then(addresses) }
    }
  }
}

/// An answer that is known, and comes from the loop.
package final class LaterAnswer: FlowAttempt {
  private var source: DescriptorLoop.Source?

  package init(on loop: DescriptorLoop, _ answer: @escaping () -> Void) { source = try? loop.at(.now, answer) }
}

/// A connection to one of several addresses, in their order.
private final class ConnectionAttempt: FlowAttempt {
  /// For each address but the last one.
  private static let patience = Duration.seconds(5)

  private let port: UInt16
  private let loop: DescriptorLoop
  private let then: (Result<any FlowStream, FlowFailure>) -> Void
  private var rest: ArraySlice<IPAddress> = []
  private var failure = FlowFailure.noSuchHost
  private var file: FileDescriptor?
  private var source: DescriptorLoop.Source?
  private var alarm: DescriptorLoop.Source?

  init(to port: UInt16, on loop: DescriptorLoop, _ then: @escaping (Result<any FlowStream, FlowFailure>) -> Void) {
    self.port = port
    self.loop = loop
    self.then = then
  }

  func begin(_ addresses: [IPAddress]) {
    rest = addresses[...]
    tryNext()
  }

  private func tryNext() {
    (source, alarm, file) = (nil, nil, nil)
    while let address = rest.popFirst() {
      guard !isForbidden(address) else {
        failure = .forbidden
        continue
      }
      do throws(SystemError) {
        let file = try StreamSocket.connect(to: address, port: port)
        self.file = file
        source = try loop.whenWritable(file.number) { [weak self] in self?.look(file) }
        if !rest.isEmpty { alarm = try loop.at(.now + Self.patience) { [weak self] in self?.giveUp() } }
        return
      } catch {
        failure = FlowFailure(code: error.code)
      }
    }
    then(.failure(failure))
  }

  private func giveUp() {
    failure = .timedOut
    tryNext()
  }

  private func look(_ file: FileDescriptor) {
    let code = StreamSocket.failure(of: file)
    guard code == 0 else {
      failure = FlowFailure(code: code)
      return tryNext()
    }
    // The stream watches the descriptor from now on.
    (source, alarm) = (nil, nil)
    then(.success(SocketStream(file, on: loop)))
  }
}
