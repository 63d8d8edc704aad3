import AgentCore
internal import ControlProtocol
internal import Glibc
internal import JSON
internal import LinuxIO
internal import NetworkTypes
internal import PolicySource

/// The last known good policies, across restarts of the agent: the note `policies`.
///
/// Policies on trial are remembered while the agent runs, and never written: a reboot reverts them.
final class LastGoodPolicies {
  private let state: StateFolder
  private var settled: KeptPolicies?
  private var onTrial: KeptPolicies?

  init(_ state: StateFolder) {
    self.state = state
    settled = state.keptPolicies
  }

  /// Loads these layers. The result is on disk before it is in force: an agent that is killed in between starts with the same.
  func load(_ layers: [String], isTrial: Bool) -> LoadedPolicies {
    if !isTrial { onTrial = nil }
    let loaded = loadPolicies(
      layers: layers, requireRootOwnership: geteuid() == 0, fallingBackTo: onTrial ?? settled, at: Int64(time(nil)))
    guard let kept = loaded.kept else { return loaded }
    if isTrial {
      onTrial = kept
    } else if kept != settled {
      settled = kept
      state.put(kept)
    }
    return loaded
  }
}

/// The set as a note. Text is stored as text, so that people can read it; other data in hexadecimal digits.
extension KeptPolicies {
  static let noteName = "policies"

  var note: JSON {
    let files = files.values.sorted { $0.file.path < $1.file.path }.map { file in
      let text = String(validating: file.file.bytes, as: UTF8.self)
      return KeptPoliciesNote.File(
        path: file.file.path, since: NotedTime(seconds: file.since), names: file.file.names, text: text,
        bytes: text == nil ? file.file.bytes.map(hexadecimal).joined() : nil)
    }
    return JSON(encoding: KeptPoliciesNote(since: NotedTime(seconds: since), files: files))
  }

  /// `nil` if it is no such note.
  init?(_ note: JSON) {
    guard let note = try? note.decoded(as: KeptPoliciesNote.self) else { return nil }
    var files: [File] = []
    for file in note.files {
      guard let bytes = file.text.map({ Array($0.utf8) }) ?? file.bytes.flatMap({ NetworkTypes.bytes(fromHex: $0[...]) }) else {
        return nil
      }
      files.append(File(ReadFile(path: file.path, bytes: bytes, names: file.names), since: file.since.time.seconds))
    }
    self.init(files, since: note.since.time.seconds)
  }
}

/// The note's form. Times are in whole seconds.
private struct KeptPoliciesNote: Codable {
  struct File: Codable {
    var path: String
    var since: NotedTime
    var names: [String]
    var text: String?
    /// In hexadecimal digits.
    var bytes: String?
  }

  var since: NotedTime
  var files: [File]
}
