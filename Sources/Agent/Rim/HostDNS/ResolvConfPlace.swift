internal import Glibc
internal import LinuxIO

/// The object at resolv.conf's path, as lstat(2) sees it.
enum ResolvConfPlace {
  case absent
  case file(bytes: [UInt8], PlainFile)
  /// `target` as written in the link, relative to the link's own folder.
  case link(target: String)
  /// Neither a file nor a link, or not accessible.
  case other(reason: String)

  /// A file's mode bits (07777) and owner.
  struct PlainFile: Equatable {
    var mode: UInt32
    var user: UInt32
    var group: UInt32

    /// The attributes of a file that did not exist before.
    static let usual = PlainFile(mode: 0o644, user: 0, group: 0)
  }

  init(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      self = errno == ENOENT ? .absent : .other(reason: SystemError.last("look at \(path)").description)
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG:
      do throws(SystemError) {
        let attributes = PlainFile(mode: status.st_mode & 0o7777, user: status.st_uid, group: status.st_gid)
        self = .file(bytes: try TextFile.read(path), attributes)
      } catch {
        self = .other(reason: error.description)
      }
    case S_IFLNK: self = .link(target: Self.target(of: path))
    case S_IFDIR: self = .other(reason: "\(path) is a directory")
    default: self = .other(reason: "\(path) is not a file")
    }
  }

  /// Whether the file's content has changed within the last second.
  static func isJustChanged(_ path: String) -> Bool {
    var (status, now) = (stat(), timespec())
    guard stat(path, &status) == 0, clock_gettime(CLOCK_REALTIME, &now) == 0 else { return false }
    return now.tv_sec - status.st_mtim.tv_sec <= 1
  }

  /// The reason why the agent may not write at `path`; `nil` if it may. An existing file must be writable itself (an immutable one is not),
  /// an absent one needs a writable folder.
  static func obstacle(at path: String, isAbsent: Bool) -> String? {
    let place = isAbsent ? folder(of: path) : path
    if access(place, W_OK) == 0 { return nil }
    let error = SystemError.last("write \(place)")
    // The agent is root, and writes the file of another user as that user; what an ordinary user may not write says nothing of it.
    return error.code == EACCES ? nil : error.description
  }

  /// The program that manages the target of a link, as far as the path shows.
  static func owner(ofTarget target: String) -> String? {
    let owners = [
      ("systemd/resolve", "systemd-resolved"), ("NetworkManager", "NetworkManager"), ("resolvconf", "resolvconf"), ("connman", "ConnMan"),
      ("/mnt/wsl", "WSL"),
    ]
    return owners.first { target.contains($0.0) }?.1
  }

  var bytes: [UInt8]? { if case .file(let bytes, _) = self { bytes } else { nil } }

  /// Absolute path of a link's target.
  static func resolve(_ target: String, from path: String) -> String { target.hasPrefix("/") ? target : folder(of: path) + "/" + target }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func target(of path: String) -> String {
    let limit = Int(PATH_MAX)
    let target = [CChar](unsafeUninitializedCapacity: limit) { buffer, count in
      count = buffer.baseAddress.map { max(0, readlink(path, $0, limit)) } ?? 0
    }
    return String(decoding: target.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
