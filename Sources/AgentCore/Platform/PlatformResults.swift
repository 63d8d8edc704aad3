package import KernelModel
package import NetworkTypes
import RoamwardCore

/// Something outside did not work, in words for people.
package struct PlatformError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String
  /// Trying again soon may help.
  package let isTransient: Bool

  package init(_ description: String, isTransient: Bool = false) {
    self.description = description
    self.isTransient = isTransient
  }
}

/// A step that could not be made.
package struct StepFailure: Hashable, Sendable, CustomStringConvertible {
  package let step: Step
  package let reason: String

  package init(step: Step, reason: String) {
    self.step = step
    self.reason = reason
  }

  package var description: String { "\(step): \(reason)" }
}

/// What runs WireGuard devices on this machine.
package enum EngineChoice: Hashable, Sendable {
  case engine(WireGuardEngine)
  case none(reason: String)
}

/// What came of a look-up.
package enum Resolution: Hashable, Sendable {
  case addresses([IPAddress])
  case failed(reason: String)
}

/// What a tunnel's program is run for.
package enum CommandAction: String, Hashable, Sendable {
  case up, down, status
}

/// What came of a tunnel's program.
package enum CommandOutcome: Hashable, Sendable {
  case succeeded
  case failed(reason: String)
}
