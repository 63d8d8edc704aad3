import AgentCore
internal import ControlProtocol
internal import Glibc
internal import NetworkTypes
internal import PolicySource

/// What policies were when they were good last, over the agent's life and its death: the note `policies`.
///
/// Policies on trial are remembered as long as the agent lives, and never written: a reboot takes them back.
final class LastGoodPolicies {
  private let state: StateFolder
  private var settled: KeptPolicies?
  private var onTrial: KeptPolicies?

  init(_ state: StateFolder) {
    self.state = state
    settled = state.keptPolicies
  }

  /// What these layers say now. On disk before it is in force: an agent that is killed in between begins with the same.
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

/// The set as a note. Text stays text, so that a person can read it; what is none is written in hexadecimal digits.
extension KeptPolicies {
  static let noteName = "policies"

  var note: JSON {
    let members = files.values.sorted { $0.file.path < $1.file.path }.map { file -> JSON in
      let text = String(validating: file.file.bytes, as: UTF8.self)
      return [
        "path": .string(file.file.path), "since": .integer(file.since), "names": JSON(file.file.names),
        text == nil ? "bytes" : "text": .string(text ?? file.file.bytes.map(hexadecimal).joined()),
      ]
    }
    return ["since": .integer(since), "files": .array(members)]
  }

  /// `nil` for what is no such note.
  init?(_ note: JSON) {
    guard let since = note["since"]?.integer, let members = note["files"]?.array else { return nil }
    var files: [File] = []
    for member in members {
      guard let path = member["path"]?.string, let since = member["since"]?.integer,
        let bytes = member["text"]?.string.map({ Array($0.utf8) })
          ?? member["bytes"]?.string.flatMap({ NetworkTypes.bytes(fromHex: $0[...]) })
      else { return nil }
      files.append(File(ReadFile(path: path, bytes: bytes, names: (member["names"]?.array ?? []).compactMap(\.string)), since: since))
    }
    self.init(files, since: since)
  }
}
