import AgentCore
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// Watches files by their folders, so that replacement by rename, removal and later creation are noticed.
///
/// An open file that is being written delays the call until it is closed: half-written text is never read.
package final class FileWatcher {
  private static let mask = UInt32(
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
  /// The limit of that delay, for a writer that never closes the file.
  private static let longestWait = Duration.seconds(10)

  private let loop: EventLoop
  private let settle: Duration
  private let changed: () -> Void
  private var sources: [String: EventSource] = [:]
  private var names: [String: Set<String>] = [:]
  private var beingWritten: [String: Moment] = [:]
  private var timer: EventSource?
  /// The reason why an existing file is not watched, for people; `nil`: all are watched.
  package private(set) var obstacle: String?

  /// `settle`: the delay for further changes; editors and package managers touch several files at once.
  package init(loop: EventLoop, settle: Duration = .milliseconds(100), changed: @escaping () -> Void) {
    self.loop = loop
    self.settle = settle
    self.changed = changed
  }

  /// Watches exactly these folders with all their files, and these files. A missing file is noticed when it is created, if its parent
  /// folder exists. `things` are watched themselves as well: changes of a file that is mounted over another are not seen in its folder.
  package func watch(folders: [String], files: [String], things: [String] = []) {
    var wanted: [String: Set<String>] = [:]
    for thing in things { wanted[thing] = [] }
    for file in files { wanted[Folder.parent(of: file), default: []].insert(lastComponent(of: file)) }
    for folder in folders where !isFolder(folder) { wanted[Folder.parent(of: folder), default: []].insert(lastComponent(of: folder)) }
    // No names: all files.
    for folder in folders where isFolder(folder) { wanted[folder] = [] }
    names = wanted
    sources = sources.filter { wanted[$0.key] != nil }
    obstacle = nil
    for folder in wanted.keys.sorted() where sources[folder] == nil {
      do throws(SystemError) {
        sources[folder] = try loop.onChange(in: folder, mask: Self.mask) { [weak self] name, bits in self?.noticed(name, bits, in: folder) }
      } catch {
        // Folders without access are not read either: systemd-resolved's own notes, under the unit's limits.
        if error.code != ENOENT, error.code != EACCES { obstacle = obstacle ?? text(error) }
      }
    }
  }

  /// inotify(7) has limits of its own, with the same error codes as files and disks.
  private func text(_ error: SystemError) -> String {
    switch error.code {
    case EMFILE: "too many inotify instances of this user; cure: raise sysctl fs.inotify.max_user_instances"
    case ENOSPC: "too many inotify watches of this user; cure: raise sysctl fs.inotify.max_user_watches"
    default: "\(error)"
    }
  }

  private func noticed(_ name: String, _ bits: UInt32, in folder: String) {
    // The folder is gone or replaced: it has to be watched again.
    if bits & UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF) != 0 { sources[folder] = nil }
    let wanted = names[folder] ?? []
    guard wanted.isEmpty || wanted.contains(name) || name.isEmpty else { return }
    let path = folder + "/" + name
    if bits & UInt32(IN_MODIFY) != 0 || bits & UInt32(IN_CREATE) != 0 && isRegular(path) { beingWritten[path] = .now }
    if bits & UInt32(IN_CLOSE_WRITE | IN_MOVED_FROM | IN_DELETE | IN_MOVED_TO) != 0 { beingWritten[path] = nil }
    schedule(after: settle)
  }

  private func schedule(after delay: Duration) {
    timer = try? loop.at(.now + delay) { [weak self] in self?.timeHasCome() }
  }

  private func timeHasCome() {
    timer = nil
    let now = Moment.now
    beingWritten = beingWritten.filter { now < $0.value + Self.longestWait }
    if let first = beingWritten.values.min() {
      // A close is an event and arrives by itself; the timer is for a writer that never closes.
      timer = try? loop.at(first + Self.longestWait) { [weak self] in self?.timeHasCome() }
    } else {
      changed()
    }
  }
}

private func lastComponent(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

private func isFolder(_ path: String) -> Bool { fileType(path) == S_IFDIR }

private func isRegular(_ path: String) -> Bool { fileType(path) == S_IFREG }

private func fileType(_ path: String) -> mode_t? {
  var info = stat()
  return lstat(path, &info) == 0 ? info.st_mode & S_IFMT : nil
}
