internal import FlowProtocol
internal import Glibc
internal import KernelModel
package import LinuxIO
package import NetworkTypes
internal import ProcessConfinement

/// The work of `roamward-socks`: a proxy for programs of this machine, without privileges. Its control group decides the way of all that it
/// sends.
package enum SocksWork {
  /// Two descriptors for each client, or four for its datagrams, which few have. Landlock leaves the files of name servers alone: their
  /// links lead to /run.
  private static let worker = ConfinedWorker(
    user: "roamward-socks", descriptors: 4096, memory: 256 << 20,
    folders: ["/etc", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"], filter: SocksFilter.filter)

  /// Listens, confines itself, and serves until SIGTERM or SIGINT. `say`: one line for a person.
  package static func run(_ arguments: ProxyArguments, say: (String) -> Void) throws(SystemError) {
    try run(at: arguments.places, needsRoute: arguments.needsRoute, outlet: { $1 }, say: say)
  }

  /// - Parameters:
  ///   - needsRoute: the process's own sockets are opened only on a route of their own.
  ///   - outlet: the way of flows, from that of the process's own sockets.
  package static func run(
    at places: [(address: IPAddress, port: UInt16)], needsRoute: Bool, outlet: (DescriptorLoop, DirectOutlet) -> any FlowOutlet,
    say: (String) -> Void
  ) throws(SystemError) {
    let loop = try DescriptorLoop()
    let outlet = outlet(loop, try DirectOutlet(on: loop, needsRoute: needsRoute))
    var servers: [ProxyServer] = []
    for (address, port) in places {
      let server = ProxyServer(try StreamSocket.listen(at: address, port: port), at: address, outlet: outlet, on: loop)
      try server.begin()
      servers.append(server)
    }
    // Before the confinement, after which a file that takes the words could not grow.
    for (address, port) in places {
      let place = Endpoint(host: .address(address), port: port)
      say("listening at \(place): SOCKS5 (TCP, UDP) and CONNECT of HTTP")
      if !address.isLoopback {
        say("warning: everyone who reaches \(place) can use this proxy; allow those alone who may, by a firewall")
      }
    }
    if needsRoute, !Ownership.isProgram(mark: StreamSocket.markOfNew) {
      say("note: it opens nothing for now, because \(FlowFailure.withoutRoute)")
    }
    try serve(on: loop)
    withExtendedLifetime(servers) {}
  }

  /// Confines the process, and runs its loop until SIGTERM or SIGINT.
  package static func serve(on loop: DescriptorLoop) throws(SystemError) {
    var signals: [DescriptorLoop.Source] = []
    for number in [SIGTERM, SIGINT] { signals.append(try loop.onSignal(number) { [weak loop] in loop?.stop() }) }
    try worker.confine(withParent: false)
    _ = try loop.run()
    withExtendedLifetime(signals) {}
  }

  /// Confines itself as for its work, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) { try worker.confine(withParent: false) }
}
