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

/// The result of a look-up.
package enum Resolution: Equatable, Sendable {
  case addresses([IPAddress])
  case failed(reason: String)
}

/// The purpose for which a tunnel's program is run.
package enum CommandAction: String, Equatable, Sendable {
  case up, down, status
}

/// What the programs of a tunnel use.
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
