internal import Glibc
package import KernelModel
internal import LinuxIO
package import NetworkTypes
import RoamwardCore

/// Puts our resolv.conf in the place of the host's and gives the host's back, byte for byte, whatever happens in between.
///
/// The original is kept on disk before anything is changed, and dropped only once it stands in its place again; so a new start after
/// SIGKILL or a power failure finds either nothing to do or all it needs. A file without our marker is never ours: where one
/// replaced ours, it stays. Symbolic links are never followed for writing and never replaced.
package final class ResolvConfBackend {
  package let path: String
  private let stateDirectory: String
  private let files: FileOperations
  /// What people have to know of: a kept original that can be used no more.
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

  package func observe() -> ObservedResolvConf {
    switch look() {
    case .absent:
      if let obstacle = ResolvConfPlace.obstacle(at: path, isAbsent: true) { return .untouchable(reason: obstacle) }
      return .absent
    case .file(let bytes, _):
      // Ours that cannot be written any more is ours still: that it cannot be taken back is to be told.
      if !Self.isOurs(bytes), let obstacle = ResolvConfPlace.obstacle(at: path, isAbsent: false) { return .untouchable(reason: obstacle) }
      return .file(String(decoding: bytes, as: UTF8.self))
    case .link(let target):
      let owner = ResolvConfPlace.owner(ofTarget: target).map { ", which belongs to \($0)" } ?? ""
      return .untouchable(reason: "\(path) is a symbolic link to \(target)\(owner)")
    case .other(let reason):
      return .untouchable(reason: reason)
    }
  }

  /// Where the file leads, as an absolute path; `nil` where it is no symbolic link.
  package var target: String? {
    guard case .link(let target) = ResolvConfPlace(path) else { return nil }
    return ResolvConfPlace.resolve(target, from: path)
  }

  /// The text that names the underlay's servers: the file itself where it is not ours, else the kept original. Links are followed; where
  /// one leads to the stub of systemd-resolved, the servers behind the stub are given.
  package func underlayText() -> Fact<String> {
    do {
      switch look() {
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

  /// Keeps what stands there, unless it is ours already, and puts this in its place, with the same mode and owner. What somebody else puts
  /// there at the same moment is not lost: it stays where it is no file, and is kept where it is one.
  package func write(_ content: ResolvConf) throws(ResolvConfError) {
    try persistently { () throws(ResolvConfError) in try writeOnce(Array(content.rendered.utf8)) }
  }

  private func writeOnce(_ text: [UInt8]) throws(ResolvConfError) -> Bool {
    try recover()
    if case .untouchable(let reason) = observe() { throw .untouchable(reason: reason) }
    let seen = look()
    var attributes = ResolvConfPlace.PlainFile.usual
    switch seen {
    case .file(let bytes, let file):
      if bytes == text { return true }
      if !Self.isOurs(bytes) { try keep(.file(bytes: bytes, file)) }
      attributes = file
    case .absent:
      // Somebody may have removed ours: an original that is kept is worth more than that there is none now.
      if case .file(_, let file)? = try kept() { attributes = file } else { try keep(.absent) }
    case .link, .other: break
    }
    return try put(text, attributes, inPlaceOf: seen.bytes)
  }

  /// Gives the host its file back, or its absence; then drops what was kept. Where somebody replaced ours, theirs stays.
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
    // With nothing kept, no servers are still better than those of a tunnel that is gone.
    case (.file(let bytes, let file), _) where Self.isOurs(bytes): return try takeAway(file)
    case (.other(let reason), _): throw .untouchable(reason: reason)
    default: return true
    }
  }

  /// Until it could be done with nobody in between.
  private func persistently(_ body: () throws(ResolvConfError) -> Bool) throws(ResolvConfError) {
    for _ in 0..<5 { if try body() { return } }
    throw .untouchable(reason: "another program keeps replacing \(path)")
  }

  /// Finishes what a killed agent began: to be called once at the start. Writing and restoring do it by themselves.
  package func recover() throws(ResolvConfError) {
    try setDamagedAside()
    try perform { () throws(SystemError) in
      try self.putBackAnothers()
      for unfinished in [self.path, self.keptPath, self.intendedPath].map({ $0 + TextFile.temporarySuffix })
      where access(unfinished, F_OK) == 0 { try self.files.remove(unfinished) }
      // Somebody's file has taken the place of ours: what was kept is of an older network, and is never put back.
      if case .file(let bytes, _) = self.look(), !Self.isOurs(bytes) { try self.files.remove(self.keptPath) }
      if let intended = self.intended(), let bytes = ResolvConfPlace(self.path).bytes, intended.starts(with: bytes) {
        try self.files.overwrite(self.path, intended)
      }
      if access(self.intendedPath, F_OK) == 0 { try self.files.remove(self.intendedPath) }
    }
    // Where somebody has put a link since, what stood there before is nobody's wish any more.
    if case .link = ResolvConfPlace(path), access(keptPath, F_OK) == 0 {
      try perform { () throws(SystemError) in try self.files.remove(self.keptPath) }
    }
  }

  /// Where a change would be seen by inotify(7): names to look for in a folder, and things to watch themselves (`name` is `nil`). Ask again
  /// after each change: a replaced file is another one.
  package var watchPaths: [(path: String, name: String?)] {
    func both(_ path: String) -> [(String, String?)] {
      let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
      return [(ResolvConfPlace.folder(of: path), name)]
    }
    switch ResolvConfPlace(path) {
    // A bind mount's own changes are not seen in the folder that it is mounted over.
    case .file: return both(path) + [(path, nil)]
    case .link(let target): return both(path) + both(ResolvConfPlace.resolve(target, from: path))
    case .absent, .other: return both(path)
    }
  }
}

extension ResolvConfBackend {
  private var keptPath: String { stateDirectory + "/resolv.conf.kept" }
  /// While a file is overwritten in place, which is no single step: what it is to hold.
  private var intendedPath: String { stateDirectory + "/resolv.conf.intended" }

  private static func isOurs(_ bytes: [UInt8]) -> Bool { bytes.starts(with: Ownership.resolvConfMarker.utf8) }

  /// What stands there; of an interrupted overwriting, what it was about to write.
  private func look() -> ResolvConfPlace {
    let place = ResolvConfPlace(path)
    guard case .file(let bytes, let file) = place, let intended = intended(), intended.starts(with: bytes) else { return place }
    return .file(bytes: intended, file)
  }

  /// One that is damaged was never begun: it is on the disk, whole, before the file is touched.
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

  /// What a disk has damaged is never put back: ours then goes without anything in its place.
  private func setDamagedAside() throws(ResolvConfError) {
    do throws(ResolvConfError) {
      _ = try kept()
    } catch {
      guard case .damaged = error else { throw error }
      // It is dropped below where others have written the file since.
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

  /// By changing places with what was seen there (`nil`: nothing); where the file is a mount, or its folder cannot be written, by writing
  /// over it. That takes no room on a disk that is full, but leaves half a file when it fails: only where what stands there is of no use
  /// (`isLastResort`). False where somebody has put something else there meanwhile, which stays.
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

  /// An agent that was killed while it had another's file, or link, in its hands has left it beside ours.
  private func putBackAnothers() throws(SystemError) {
    let name = path + TextFile.temporarySuffix
    guard case .file(let standing, _) = ResolvConfPlace(path), Self.isOurs(standing) else { return }
    switch ResolvConfPlace(name) {
    case .link: try files.putBack(name, path)
    case .file(let bytes, _):
      // Else it is what is kept, or what was being written: of ours, or of that.
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
      // Where nothing happened, nothing is to be finished later.
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
  /// Of the agent's own files: the servers in them are no secret, and the CLI reads them for anybody.
  fileprivate static var state: Self { Self(mode: 0o644, user: geteuid(), group: getegid()) }
}
