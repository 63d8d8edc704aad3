package import NetworkTypes
package import ProviderProtocol
package import RoamwardCore

/// An event on the channel of a provider's program.
package enum ProviderChannelEvent: Equatable, Sendable {
  case message([UInt8], hasDescriptor: Bool)
  /// The program has closed its end of the channel, or ended.
  case closed
  /// Everything that was started for it has ended; the program with this code, as a shell gives it. `nil`: it is not known.
  case ended(code: Int32?)
}

/// A provider's program that an agent leaves to the next one.
package struct LeftProgram: Hashable, Sendable, Codable {
  package var process: Int64
  /// The start of the process, in clock ticks since the boot: another process under its number has another one.
  package var started: Int64

  package init(process: Int64, started: Int64) {
    self.process = process
    self.started = started
  }
}

/// Programs of installed providers: one for a tunnel at a time. docs/provider-protocol.md
package struct InstalledPlatform {
  /// Starts a tunnel's program, whose sockets have this firewall mark. Its events come later, on the agent's thread; `ended` is the last
  /// one, and comes once.
  package var start: (String, ProviderProgram, UInt32, @escaping (ProviderChannelEvent) -> Void) throws(PlatformError) -> Void
  /// Opens the credentials for a run of the tunnel's program that begins, each of which is sent once. Returns whether there is something
  /// kept for it, as the credential `kept`.
  package var openCredentials: (String, InstalledProviderConfiguration) throws(PlatformError) -> Bool
  /// Sends a message to the tunnel's program, with the descriptor of this name.
  package var send: (String, [UInt8], ProviderSession.Attachment?) -> Void
  /// Attaches to this TUN device of the tunnel; the descriptor is `granted(id)`. Returns the MTU.
  package var openDevice: (String, UInt32, String) throws(PlatformError) -> Int
  /// Connects a socket with that mark; the descriptor is `granted(id)` if it calls back with the socket's own address.
  package var openSocket: (String, UInt32, Transport, Endpoint, @escaping (Result<IPAddress?, PlatformError>) -> Void) -> Void
  /// Keeps a secret as a readable descriptor of this name, until it is sent.
  package var keepSecret: (String, ProviderSession.Attachment, [UInt8]) throws(PlatformError) -> Void
  /// Keeps these bytes on disk for the next runs of the tunnel with this provider; none: forgets them.
  package var keep: (String, InstalledProviderConfiguration, [UInt8]) throws(PlatformError) -> Void
  /// Closes the channel, and ends the tunnel's program with all that it has started: first by SIGTERM, two seconds later by SIGKILL.
  package var end: (String) -> Void
  /// Kills the same now.
  package var cut: (String) -> Void
  /// Kills what an earlier agent has left of providers: processes in the groups of all tunnels but those of these commands.
  package var endLeftovers: (Set<String>) -> Void
  /// Leaves the tunnel's program to the next agent and forgets it. Returns what that needs to find it; `nil`: it cannot be left, and
  /// still runs for this agent.
  package var handOver: (String) -> LeftProgram?
  /// Takes over a program that another agent has left, whose sockets have this mark. Events come as after `start`. Returns false if it has
  /// ended.
  package var adopt: (String, LeftProgram, UInt32, @escaping (ProviderChannelEvent) -> Void) -> Bool
  /// Ends the programs that another agent has left for these tunnels and that were not adopted.
  package var endUnclaimed: (Set<String>) -> Void

  package init(
    start: @escaping (String, ProviderProgram, UInt32, @escaping (ProviderChannelEvent) -> Void) throws(PlatformError) -> Void,
    openCredentials: @escaping (String, InstalledProviderConfiguration) throws(PlatformError) -> Bool,
    send: @escaping (String, [UInt8], ProviderSession.Attachment?) -> Void,
    openDevice: @escaping (String, UInt32, String) throws(PlatformError) -> Int,
    openSocket: @escaping (String, UInt32, Transport, Endpoint, @escaping (Result<IPAddress?, PlatformError>) -> Void) -> Void,
    keepSecret: @escaping (String, ProviderSession.Attachment, [UInt8]) throws(PlatformError) -> Void,
    keep: @escaping (String, InstalledProviderConfiguration, [UInt8]) throws(PlatformError) -> Void = { _, _, _ in },
    end: @escaping (String) -> Void, cut: @escaping (String) -> Void, endLeftovers: @escaping (Set<String>) -> Void = { _ in },
    handOver: @escaping (String) -> LeftProgram? = { _ in nil },
    adopt: @escaping (String, LeftProgram, UInt32, @escaping (ProviderChannelEvent) -> Void) -> Bool = { _, _, _, _ in false },
    endUnclaimed: @escaping (Set<String>) -> Void = { _ in }
  ) {
    self.handOver = handOver
    self.adopt = adopt
    self.endUnclaimed = endUnclaimed
    self.start = start
    self.openCredentials = openCredentials
    self.send = send
    self.openDevice = openDevice
    self.openSocket = openSocket
    self.keepSecret = keepSecret
    self.keep = keep
    self.end = end
    self.cut = cut
    self.endLeftovers = endLeftovers
  }

  /// No program starts.
  package static var unsupported: InstalledPlatform {
    InstalledPlatform(
      start: { _, _, _, _ throws(PlatformError) in throw PlatformError("this platform runs no providers") },
      openCredentials: { _, _ throws(PlatformError) in throw PlatformError("this platform runs no providers") }, send: { _, _, _ in },
      openDevice: { _, _, _ throws(PlatformError) in throw PlatformError("this platform has no TUN devices") },
      openSocket: { _, _, _, _, done in done(.failure(PlatformError("this platform has no sockets"))) },
      keepSecret: { _, _, _ throws(PlatformError) in throw PlatformError("this platform keeps no secrets") }, end: { _ in }, cut: { _ in })
  }
}
