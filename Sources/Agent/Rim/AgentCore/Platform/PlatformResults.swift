package import KernelModel
package import NetworkTypes
import RoamwardCore

/// A failure outside the agent, with a message for people.
package struct PlatformError: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String
  /// Whether another attempt soon may succeed.
  package let isTransient: Bool

  package init(_ description: String, isTransient: Bool = false) {
    self.description = description
    self.isTransient = isTransient
  }
}

/// A step that failed.
package struct StepFailure: Equatable, Sendable, CustomStringConvertible {
  package let step: Step
  package let reason: String

  package init(step: Step, reason: String) {
    self.step = step
    self.reason = reason
  }

  package var description: String { "\(step): \(reason)" }
}

/// The engine of WireGuard devices on this machine.
package enum EngineChoice: Equatable, Sendable {
  case engine(WireGuardEngine)
  case none(reason: String)
}

/// The reason why the kernel takes no packet to an endpoint, or what came back of one.
package enum SendObstacle: Equatable, Sendable {
  /// ENETUNREACH: there is no route.
  case noRoute
  /// EHOSTUNREACH: a route of the type `unreachable`, or a next hop that does not answer.
  case unreachable
  /// EACCES: a route of the type `prohibit`.
  case prohibited
  /// EINVAL: a route of the type `blackhole`.
  case discarded
  /// EPERM: the firewall drops it.
  case filtered
  /// ECONNREFUSED: an ICMP message says that nothing receives at the port.
  case refused
}

/// The way to an endpoint, as the kernel sees it.
package struct EndpointTrial {
  /// Known without a packet.
  package let obstacle: SendObstacle?
  /// Sends a packet of four zero bytes, which no WireGuard peer reads, and returns what keeps it here, or what came back of an earlier one.
  package let send: () -> SendObstacle?

  package init(_ obstacle: SendObstacle?, send: @escaping () -> SendObstacle?) {
    self.obstacle = obstacle
    self.send = send
  }
}

/// A program that has a UDP port of this machine.
package struct PortHolder: Hashable, Sendable, CustomStringConvertible {
  package let port: UInt16
  /// `dnsmasq (process 4711)`; the kernel itself if no process has it.
  package let holder: String

  package init(port: UInt16, holder: String) {
    self.port = port
    self.holder = holder
  }

  package var description: String { "UDP port \(port) is taken by \(holder)" }
}

/// The result of a look-up.
package enum Resolution: Equatable, Sendable {
  case addresses([IPAddress])
  /// The name does not exist, or has no address.
  case missing(reason: String)
  case failed(reason: String)

  var isFound: Bool { if case .addresses = self { true } else { false } }
}

/// The purpose for which a tunnel's program is run.
package enum CommandAction: String, Equatable, Sendable {
  /// The start of the tunnel.
  case up
  /// The end of the tunnel.
  case down
  /// A look at whether it is up.
  case status
}

/// The resources that the programs of a tunnel use.
package struct ProgramUsage: Equatable, Sendable {
  package var processes: Int
  /// Bytes.
  package var memory: Int64
  /// Since the tunnel's start.
  package var processorTime: Duration

  package init(processes: Int, memory: Int64, processorTime: Duration) {
    self.processes = processes
    self.memory = memory
    self.processorTime = processorTime
  }
}

/// The result of a tunnel's program.
package enum CommandOutcome: Equatable, Sendable {
  case succeeded
  case failed(reason: String)
}
