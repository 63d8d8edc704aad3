internal import GatewayCore
internal import GatewaySource
internal import GatewayStore
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// Carries out the files that declare a running gateway, when one of them changes. Files with errors change nothing: the last good ones
/// stay in force, and the reason is in the journal and in `doctor`.
final class FileFollower {
  private let folder: StateFolder
  private let files: DeclaredFiles
  private let store: GatewayStore
  private let loop: EventLoop
  private var seen: [String] = []
  private var trouble = LastingTrouble()
  /// Of each folder that is there.
  private var watches: [String: EventSource] = [:]
  private var timer: EventSource?
  /// The end of a trial.
  private var end: EventSource?

  /// An editor writes a file in several steps.
  private static let pause = Duration.milliseconds(100)
  private static let patience = Duration.milliseconds(200)

  init(_ folder: StateFolder, _ files: DeclaredFiles, _ store: GatewayStore, on loop: EventLoop) {
    self.store = store
    self.folder = folder
    self.files = files
    self.loop = loop
  }

  /// Carries the files out, and does so after each change of them.
  func begin() { take() }

  /// On time: for a folder that was not there before.
  func look() { if files.signature != seen { take() } }

  private func watch() {
    for folder in files.folders where watches[folder] == nil {
      let mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
      watches[folder] = try? loop.onChange(in: folder, mask: UInt32(mask)) { [weak self] _, bits in
        // Another folder of this name is another one to watch.
        if bits & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED) != 0 { self?.watches[folder] = nil }
        self?.wait()
      }
    }
  }

  private func wait(_ pause: Duration = FileFollower.pause) {
    timer = try? loop.at(.now + pause) { [weak self] in self?.take() }
  }

  private func take() {
    timer = nil
    do {
      // A command has it while it begins or ends a trial.
      guard let lock = try FileTrial(folder).lock() else { return wait(Self.patience) }
      defer { withExtendedLifetime(lock) {} }
      try settle()
      carryOut()
    } catch {
      seen = []
      tell("\(error)")
    }
  }

  /// Ends the trial whose time is over, and waits for the end of another one.
  private func settle() throws {
    end = nil
    switch try FileTrial(folder).settle(in: store) {
    case .none: break
    case .goesOn(let deadline): end = try loop.at(deadline) { [weak self] in self?.take() }
    case .ended: GatewayJournal.log("the files on trial are reverted: they were not confirmed")
    }
  }

  private func carryOut() {
    // Before they are read: what comes later is another change.
    watch()
    seen = files.signature
    do {
      let effect = try files.apply(files.load(), in: store)
      for line in effect.parts.flatMap(\.lines) { GatewayJournal.log("files: \(line.text)") }
      tell(nil)
    } catch {
      // A store that is away comes back.
      seen = []
      tell("\(error)")
    }
  }

  private func tell(_ text: String?) {
    folder.record(trouble: text, of: .files)
    if trouble.isNew(text) { GatewayJournal.log(text.map { "nothing of the files is changed: \($0)" } ?? "the files are good again") }
  }
}
