internal import Glibc
package import KernelModel
internal import LinuxIO
package import NetworkTypes
import RoamwardCore

/// Replaces the host's resolv.conf by ours, and restores it byte for byte, despite any interruption.
///
/// The original is stored on disk before any change, and removed only after it is restored. So a start after SIGKILL or a power failure
/// finds either nothing to do or everything it needs. A file without our marker is never ours: if one replaced ours, it stays. Symbolic
/// links are never followed for writing and never replaced.
package final class ResolvConfBackend {
  package let path: String
  private let stateDirectory: String
  private let files: FileOperations
  /// Problems to report: a stored original that is no longer usable.
  package private(set) var troubles: [String] = []

  /// `stateDirectory` has to exist, and to outlive the agent (/var/lib/roamward).
  package convenience init(path: String = "/etc/resolv.conf", stateDirectory: String) {
    self.init(path: path, stateDirectory: stateDirectory, files: .real)
  }

  init(path: String, stateDirectory: String, files: FileOperations) {
    self.path = path
    self.stateDirectory = stateDirectory
    self.files = files
  }

  /// The file now, to be read once for everything that an observation needs of it.
  package func read() -> ResolvConfReading { ResolvConfReading(self) }

  package func observe() -> ObservedResolvConf { observe(look()) }

  func observe(_ place: ResolvConfPlace) -> ObservedResolvConf {
    switch place {
    case .absent:
      if let obstacle = ResolvConfPlace.obstacle(at: path, isAbsent: true) { return .untouchable(reason: obstacle) }
      return .absent
    case .file(let bytes, _):
      // Our file stays ours even if it can no longer be written: the failure to restore has to be reported.
      if !Self.isOurs(bytes), let obstacle = ResolvConfPlace.obstacle(at: path, isAbsent: false) { return .untouchable(reason: obstacle) }
      return .file(String(decoding: bytes, as: UTF8.self))
    case .link(let target):
      let owner = ResolvConfPlace.owner(ofTarget: target).map { ", which belongs to \($0)" } ?? ""
      return .untouchable(reason: "\(path) is a symbolic link to \(target)\(owner)")
    case .other(let reason):
      return .untouchable(reason: reason)
    }
  }

  /// The text that names the underlay's servers: the file itself if it is not ours, else the stored original. Links are followed. A link to
  /// the stub of systemd-resolved yields the servers behind the stub.
  package func underlayText() -> Fact<String> { underlayText(at: look()) }

  func underlayText(at place: ResolvConfPlace) -> Fact<String> {
    do {
      switch place {
      case .absent: return .known("")
      case .file(let bytes, _) where !Self.isOurs(bytes): return .known(String(decoding: bytes, as: UTF8.self))
      case .file:
        switch try kept() {
        case .file(let bytes, _): return .known(String(decoding: bytes, as: UTF8.self))
        case .absent: return .known("")
        case nil: return .unknown(reason: "\(path) is ours, and there is no copy of the original")
        }
      case .link(let target):
        let full = ResolvConfPlace.resolve(target, from: path)
        let isStub = full.hasSuffix("/systemd/resolve/stub-resolv.conf")
        let source = isStub ? ResolvConfPlace.folder(of: full) + "/resolv.conf" : full
        return .known(String(decoding: try TextFile.read(source), as: UTF8.self))
      case .other(let reason): return .unknown(reason: reason)
      }
    } catch {
      return .unknown(reason: "\(error)")
    }
  }

  /// Stores the present file, unless it is ours, and replaces it by this one, with the same mode and owner. A concurrent change by another
  /// program is not lost: a file is stored, anything else stays in place.
  package func write(_ content: ResolvConf) throws(ResolvConfError) {
    try persistently { () throws(ResolvConfError) in try writeOnce(Array(content.rendered.utf8)) }
  }

  private func writeOnce(_ text: [UInt8]) throws(ResolvConfError) -> Bool {
    try recover()
    if case .untouchable(let reason) = observe() { throw .untouchable(reason: reason) }
    let seen = lookWhenWritten()
    var attributes = ResolvConfPlace.PlainFile.usual
    switch seen {
    case .file(let bytes, let file):
      if bytes == text { return true }
      if !Self.isOurs(bytes) { try keep(.file(bytes: bytes, file)) }
      attributes = file
    case .absent:
      // Another program may have removed ours: a stored original is worth more than the present absence.
      if case .file(_, let file)? = try kept() { attributes = file } else { try keep(.absent) }
    case .link, .other: break
    }
    return try put(text, attributes, inPlaceOf: seen.bytes)
  }

  /// Restores the host's file, or its absence; then removes the stored original. If another program replaced ours, its file stays.
  package func restore() throws(ResolvConfError) {
    try persistently { () throws(ResolvConfError) in try restoreOnce() }
    try perform { () throws(SystemError) in try self.files.remove(self.keptPath) }
  }

  private func restoreOnce() throws(ResolvConfError) -> Bool {
    try recover()
    switch (look(), try kept()) {
    case (.file(let bytes, _), .file(let old, let file)?) where Self.isOurs(bytes):
      return try put(old, file, inPlaceOf: bytes, isLastResort: true)
    case (.absent, .file(let old, let file)?): return try put(old, file, inPlaceOf: nil)
    // Without a stored original, no servers are better than those of a closed tunnel.
    case (.file(let bytes, let file), _) where Self.isOurs(bytes): return try takeAway(file)
    case (.other(let reason), _): throw .untouchable(reason: reason)
    default: return true
    }
  }

  /// Repeats the body until no other program interferes.
  private func persistently(_ body: () throws(ResolvConfError) -> Bool) throws(ResolvConfError) {
    for _ in 0..<5 { if try body() { return } }
    throw .untouchable(reason: "another program keeps replacing \(path)")
  }

  /// Finishes the work of a killed agent: to be called once at the start. Writing and restoring do it by themselves.
  package func recover() throws(ResolvConfError) {
    try setDamagedAside()
    try perform { () throws(SystemError) in
      try self.putBackAnothers()
      for unfinished in [self.path, self.keptPath, self.intendedPath].map({ $0 + TextFile.temporarySuffix })
      where access(unfinished, F_OK) == 0 { try self.files.remove(unfinished) }
      for path in [self.path, self.keptPath, self.intendedPath] { TextFile.clearUnfinished(path) }
      // Another program's file has replaced ours: the stored original is of an older network, and is never restored.
      if case .file(let bytes, _) = self.look(), !Self.isOurs(bytes) { try self.files.remove(self.keptPath) }
      if let intended = self.intended(), let bytes = ResolvConfPlace(self.path).bytes, intended.starts(with: bytes) {
        try self.files.overwrite(self.path, intended)
      }
      if access(self.intendedPath, F_OK) == 0 { try self.files.remove(self.intendedPath) }
    }
    // If another program has created a link since, the earlier file is obsolete.
    if case .link = ResolvConfPlace(path), access(keptPath, F_OK) == 0 {
      try perform { () throws(SystemError) in try self.files.remove(self.keptPath) }
    }
  }

  /// The places at which inotify(7) shows a change: names in a folder, and files to watch themselves (`name` is `nil`). Query again after
  /// each change: a replaced file is another one.
  package var watchPaths: [(path: String, name: String?)] {
    func both(_ path: String) -> [(String, String?)] {
      let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
      return [(ResolvConfPlace.folder(of: path), name)]
    }
    switch ResolvConfPlace(path) {
    // Changes of a bind mount are not seen in the folder of its mount point.
    case .file: return both(path) + [(path, nil)]
    case .link(let target): return both(path) + both(ResolvConfPlace.resolve(target, from: path))
    case .absent, .other: return both(path)
    }
  }
}

extension ResolvConfBackend {
  private var keptPath: String { stateDirectory + "/resolv.conf.kept" }
  /// The intended content while a file is overwritten in place, which is not atomic.
  private var intendedPath: String { stateDirectory + "/resolv.conf.intended" }

  private static func isOurs(_ bytes: [UInt8]) -> Bool { bytes.starts(with: Ownership.resolvConfMarker.utf8) }

  /// The present content; after an interrupted overwrite, the intended one.
  private func look() -> ResolvConfPlace { completed(ResolvConfPlace(path)) }

  func completed(_ place: ResolvConfPlace) -> ResolvConfPlace {
    guard case .file(let bytes, let file) = place, let intended = intended(), intended.starts(with: bytes) else { return place }
    return .file(bytes: intended, file)
  }

  /// The present content, complete: dhclient's script truncates the file and then writes to it. What it writes after an exchange would be
  /// lost, and an empty file the original. At most a tenth of a second.
  private func lookWhenWritten() -> ResolvConfPlace {
    var place = look()
    for _ in 0..<20 {
      guard case .file(let bytes, _) = place, bytes.last != 10, !Self.isOurs(bytes), ResolvConfPlace.isJustChanged(path) else { break }
      files.wait()
      place = look()
    }
    return place
  }

  /// A damaged note means that the overwrite did not begin: the note is on disk, complete, before the file is touched.
  private func intended() -> [UInt8]? {
    guard let bytes = try? TextFile.read(intendedPath), case .file(let intended, _)? = KeptResolvConf(bytes) else { return nil }
    return intended
  }

  private func kept() throws(ResolvConfError) -> KeptResolvConf? {
    do throws(SystemError) {
      guard let kept = KeptResolvConf(try TextFile.read(keptPath)) else { throw SystemError(code: EINVAL, operation: "") }
      return kept
    } catch {
      switch error.code {
      case ENOENT: return nil
      case EINVAL: throw .damaged(keptPath)
      default: throw .system(error)
      }
    }
  }

  /// Damaged data is never restored: our file is then removed without a replacement.
  private func setDamagedAside() throws(ResolvConfError) {
    do throws(ResolvConfError) {
      _ = try kept()
    } catch {
      guard case .damaged = error else { throw error }
      // It is removed below if others have written the file since.
      switch look() {
      case .file(let bytes, _) where !Self.isOurs(bytes): return
      case .link: return
      default: break
      }
      let aside = stateDirectory + "/damaged-resolv.conf.kept"
      guard rename(keptPath, aside) == 0 else { throw .system(.last("set \(keptPath) aside")) }
      troubles = [
        "\(keptPath) is damaged, so the original \(path) cannot be restored: ours is removed when the tunnel ends; the damaged copy is \(aside),"
          + " for inspection; cure: let the program that manages \(path) write it again (renew the lease)"
      ]
    }
  }

  private func keep(_ original: KeptResolvConf) throws(ResolvConfError) {
    try perform { () throws(SystemError) in try self.files.replace(self.keptPath, original.encoded, .state) }
  }

  /// Replaces the file by an exchange with the observed one (`nil`: none). A mounted file, or one in a read-only folder, is overwritten
  /// instead. That needs no space on a full disk, but leaves half a file if it fails. So `isLastResort` limits it to a file that is of no
  /// use. Returns false if another program has meanwhile put something else there, which stays.
  private func put(
    _ bytes: [UInt8], _ file: ResolvConfPlace.PlainFile, inPlaceOf seen: [UInt8]?, isLastResort: Bool = false
  ) throws(ResolvConfError) -> Bool {
    do {
      return try files.exchange(path, bytes, file) { $0.bytes == seen && seen != nil }
    } catch {
      let isFull = isLastResort && [ENOSPC, EDQUOT].contains(error.code)
      guard isFull || [EBUSY, EXDEV, EROFS, EACCES, EPERM].contains(error.code) else { throw .system(error) }
      try perform { () throws(SystemError) in try self.overwrite(bytes) }
      return true
    }
  }

  /// Restores another program's file or link that a killed agent had exchanged and left beside ours.
  private func putBackAnothers() throws(SystemError) {
    let name = path + TextFile.temporarySuffix
    guard case .file(let standing, _) = ResolvConfPlace(path), Self.isOurs(standing) else { return }
    switch ResolvConfPlace(name) {
    case .link: try files.putBack(name, path)
    case .file(let bytes, _):
      // Otherwise it is the stored original or the file being written: ours, or the original.
      let marker = Array(Ownership.resolvConfMarker.utf8)
      if Self.isOurs(bytes) || marker.starts(with: bytes) { return }
      if case .file(let kept, _)? = try? kept(), kept.starts(with: bytes) { return }
      try files.putBack(name, path)
    case .absent, .other: break
    }
  }

  private func overwrite(_ bytes: [UInt8]) throws(SystemError) {
    let before = ResolvConfPlace(path).bytes
    try files.replace(intendedPath, KeptResolvConf.file(bytes: bytes, .state).encoded, .state)
    do throws(SystemError) {
      try files.overwrite(path, bytes)
    } catch {
      // If nothing changed, no later recovery is needed.
      if ResolvConfPlace(path).bytes == before { try files.remove(intendedPath) }
      throw error
    }
    try files.remove(intendedPath)
  }

  private func takeAway(_ file: ResolvConfPlace.PlainFile) throws(ResolvConfError) -> Bool {
    do {
      return try files.takeAway(path) { $0.bytes.map(Self.isOurs) ?? false }
    } catch {
      if error.code != EBUSY { throw .system(error) }
      try perform { () throws(SystemError) in try self.overwrite([]) }
      return true
    }
  }

  private func perform(_ body: () throws(SystemError) -> Void) throws(ResolvConfError) {
    do { try body() } catch { throw .system(error) }
  }
}

extension ResolvConfPlace.PlainFile {
  /// Attributes of the agent's own files: the servers in them are no secret, and the CLI reads them for every user.
  fileprivate static var state: Self { Self(mode: 0o644, user: geteuid(), group: getegid()) }
}
