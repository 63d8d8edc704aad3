import AgentCore
internal import ControlProtocol
internal import Glibc
internal import JSON
internal import LinuxIO
internal import NetworkTypes
internal import PolicyFiles
internal import PolicySource
internal import RoamwardCore

/// Policies on trial on disk: the folder `trial` of the state folder is the topmost layer while the note `trial` says so.
///
/// Each transition between two states is one step on disk. Without the note the folder is void, and is removed at the next start. The note
/// is valid for one boot, so a reboot restores access after a lock-out. A note that says `keep` is completed at the next start.
final class TrialFolder {
  private let path: String
  private let layers: [String]
  private let state: StateFolder

  init(_ state: StateFolder, layers: [String]) {
    self.state = state
    self.layers = layers
    path = Self.path(in: state.path)
    recover()
  }

  static let name = "trial.d"

  static func path(in stateDirectory: String) -> String { "\(stateDirectory)/\(name)" }

  /// The layers that the policies are read from.
  var layersInForce: [String] { isInForce ? layers + [path] : layers }

  /// A file on trial is read as if it stood in the topmost layer, where it will be: it may name files there.
  var files: PolicyFileSystem { .linux.reading(path, asIfIn: layers.last) }

  var isInForce: Bool { state.trialNote != nil }

  var trials: PolicyTrials {
    PolicyTrials(
      current: { [self] in
        guard let note = state.trialNote, case .until(let moment) = note else { return nil }
        return PolicyTrial(until: moment)
      },
      stage: { [self] in stage($0) }, begin: { [self] moment throws(PlatformError) in try put(.until(moment)) },
      keep: { [self] () throws(PlatformError) in try keep() }, drop: { [self] in drop() })
  }

  private func recover() {
    switch state.trialNote {
    case nil: drop()
    case .keep: try? keep()
    case .until(let moment): if moment <= .now { drop() }
    }
  }

  private func stage(_ files: [ApplyRequest.File]) -> LoadedPolicies {
    var loaded = LoadedPolicies()
    // A confirmed trial that is not yet in its place is completed first.
    if state.trialNote == .keep {
      do throws(PlatformError) {
        try keep()
      } catch {
        loaded.diagnostics = [Diagnostic(.error, error.description, at: SourceLocation(file: path, line: 1, column: 1))]
        return loaded
      }
    }
    do throws(SystemError) {
      removeFolder()
      try Folder.make(path, mode: 0o700)
      for file in files { try TextFile.replace("\(path)/\(file.name)", with: Array(file.text.utf8), mode: mode(of: file.name)) }
      loaded = loadPolicies(layers: layers + [path], files: self.files, requireRootOwnership: geteuid() == 0)
      // Users do not know this temporary folder: messages name a file on trial by its base name.
      for i in loaded.diagnostics.indices where loaded.diagnostics[i].location.file.hasPrefix(path + "/") {
        let place = loaded.diagnostics[i].location
        let name = String(place.file.dropFirst(path.count + 1))
        loaded.diagnostics[i].location = SourceLocation(file: name, line: place.line, column: place.column)
      }
    } catch {
      loaded.diagnostics = [
        Diagnostic(.error, "cannot store the policies: \(error)", at: SourceLocation(file: path, line: 1, column: 1))
      ]
    }
    return loaded
  }

  private func put(_ note: TrialNote) throws(PlatformError) {
    state.put(note)
    guard state.isWritten(TrialNote.name) else {
      throw PlatformError("cannot record the trial in \(state.path); make room there, or mount it for writing")
    }
  }

  /// Moves file by file into the topmost layer; the folder has the same content, and stays in force until all are there.
  private func keep() throws(PlatformError) {
    guard let top = layers.last else { throw PlatformError("no policy folder to write to; use roamwardd --policies FOLDER") }
    let before = state.trialNote
    do throws(PlatformError) {
      try put(.keep)
    } catch {
      state.put(before)
      throw error
    }
    do throws(SystemError) {
      try Folder.make(top, mode: 0o755)
      // Files that policies refer to come before the policies.
      let names = Folder.names(in: path).sorted { (isPolicy($0) ? 1 : 0, $0) < (isPolicy($1) ? 1 : 0, $1) }
      for name in names { try TextFile.replace("\(top)/\(name)", with: try TextFile.read("\(path)/\(name)"), mode: mode(of: name)) }
    } catch {
      throw PlatformError("the policies stay active, but cannot be written to \(top): \(error); retried at the next start")
    }
    drop()
  }

  private func drop() {
    state.put(nil as TrialNote?)
    removeFolder()
  }

  private func removeFolder() {
    for name in Folder.names(in: path) { try? TextFile.remove("\(path)/\(name)") }
    rmdir(path)
  }
}

private func isPolicy(_ name: String) -> Bool { [".yaml", ".yml", ".json"].contains { name.hasSuffix($0) } }

/// No secret can stand in a policy, which everyone may read. Every other file may be one.
private func mode(of name: String) -> UInt32 { isPolicy(name) ? 0o644 : 0o600 }

/// The next state of the trial's folder.
enum TrialNote: Equatable {
  case until(Moment)
  case keep

  static let name = "trial"

  /// A moment is valid for this boot; `keep` is valid for later boots as well.
  func json(boot: String) -> JSON {
    switch self {
    case .until(let moment): ["boot": .string(boot), "until-boottime-ns": .integer(Int64(clamping: moment.nanoseconds))]
    case .keep: ["keep": true]
    }
  }

  init?(_ json: JSON) {
    if json["keep"]?.bool == true {
      self = .keep
      // Earlier versions used another name.
    } else if let until = (json["until-boottime-ns"] ?? json["until"])?.integer, until >= 0 {
      self = .until(Moment(nanoseconds: UInt64(until)))
    } else {
      return nil
    }
  }
}
