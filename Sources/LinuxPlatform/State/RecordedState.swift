import AgentCore
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import RoamwardCore

/// The notes of an agent for its successor, for readers outside the agent.
package struct RecordedState {
  private let notes: NotesOnDisk
  private let path: String

  package init(_ path: String) {
    notes = NotesOnDisk(path)
    self.path = path
  }

  /// The manual overrides that are valid now, on this network.
  package func overrides(on network: NetworkSnapshot) -> [String: ManualOverride] {
    let identity = NetworkIdentity(of: network)
    return notes.overrides.filter { !$0.value.isOver(at: .now, on: identity) }
  }

  /// The folder of policies on trial, if they are in force.
  package var trialLayer: String? { notes.trial == nil ? nil : TrialFolder.path(in: path) }
}
