import AgentCore
internal import Glibc
internal import LinuxIO

/// A line for people who log in: pam_motd(8) shows every file of /run/motd.d. It exists while the kill switch blocks traffic.
///
/// Its name is the mark by which it is recognised as ours after a crash. A missing folder is created together with the file in one step,
/// under a name that marks it. The folder is removed with the file, unless another program has put something there.
package struct LoginNotice {
  package static let usualFolder = "/run/motd.d"

  private let folder: String

  package init(folder: String = LoginNotice.usualFolder) { self.folder = folder }

  private var file: String { folder + "/roamward" }
  private var fileOfOwnFolder: String { folder + "/roamward.alone" }
  private var unfinished: String { folder + TextFile.temporarySuffix }

  /// The path of our file; `nil`: there is none.
  package var path: String? { [file, fileOfOwnFolder].first(where: FileNature.exists) }

  /// Writes it; `nil` removes it. A failure is ignored: the notice is a convenience.
  package func say(_ text: String?) {
    guard let text else { return remove() }
    let bytes = Array((text + "\n").utf8)
    if let path {
      try? TextFile.replace(path, with: bytes, mode: 0o644)
    } else if FileNature.exists(folder) {
      try? TextFile.replace(file, with: bytes, mode: 0o644)
    } else {
      removeUnfinished()
      guard mkdir(unfinished, 0o755) == 0, chmod(unfinished, 0o755) == 0,
        (try? TextFile.create(unfinished + "/roamward.alone", with: bytes, mode: 0o644)) != nil,
        rename(unfinished, folder) == 0
      else { return removeUnfinished() }
    }
  }

  private func remove() {
    removeUnfinished()
    try? TextFile.remove(file)
    guard FileNature.exists(fileOfOwnFolder) else { return }
    let isAlone = Folder.names(in: folder) == ["roamward.alone"]
    if isAlone, rename(folder, unfinished) == 0 { return removeUnfinished() }
    try? TextFile.remove(fileOfOwnFolder)
  }

  private func removeUnfinished() {
    guard FileNature.exists(unfinished) else { return }
    unlink(unfinished + "/roamward.alone")
    rmdir(unfinished)
  }
}
