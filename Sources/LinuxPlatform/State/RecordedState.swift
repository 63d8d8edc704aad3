import AgentCore
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import RoamwardCore

/// What an agent has written down for the time after it, for whoever looks from outside.
package struct RecordedState {
  private let notes: NotesOnDisk
  private let path: String

  package init(_ path: String) {
    notes = NotesOnDisk(path)
    self.path = path
  }

  /// What people have said that holds now, on this network.
  package func overrides(on network: NetworkSnapshot) -> [String: ManualOverride] {
    let identity = NetworkIdentity(of: network)
    return notes.overrides.filter { !$0.value.isOver(at: .now, on: identity) }
  }

  /// The folder of policies on trial, where they are in force.
  package var trialLayer: String? { notes.trial == nil ? nil : TrialFolder.path(in: path) }
}
