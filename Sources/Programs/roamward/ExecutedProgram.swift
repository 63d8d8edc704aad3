import ArgumentParser
import Glibc
import LinuxIO
import NetworkTypes
import Terminal

/// The file of a program, which is searched on PATH unless it contains a slash. A failure says `reason` too, and ends with a shell's code.
func executable(_ name: String, butSo reason: String) throws -> String {
  let folders = foldersOfPrograms(name)
  if let path = executablePath(name) { return path }
  let isThere = folders.contains { access($0 + name, F_OK) == 0 }
  writeError("roamward: \(escaped(name)) \(isThere ? "is no program that can be executed" : "is not found"); \(reason)\n")
  throw ExitCode(isThere ? 126 : 127)
}

/// `nil`: there is no such program that can be executed.
func executablePath(_ name: String) -> String? { foldersOfPrograms(name).map { $0 + name }.first { access($0, X_OK) == 0 && isFile($0) } }

/// The folders in which a program is searched, each with a slash.
private func foldersOfPrograms(_ name: String) -> [String] {
  if name.contains("/") { return [""] }
  let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/sbin:/usr/bin:/sbin:/bin"
  return path.split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "./" : "\($0)/" }
}

/// The name of a program without its folder, for people.
func shortName(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

/// Becomes this program, with this process's terminal, descriptors and environment. Returns only to say why it cannot.
func become(_ path: String, _ arguments: [String]) -> SystemError {
  // A terminal shows what was written before.
  fflush(nil)
  var argv = arguments.map { strdup($0) } + [nil]
  defer { for text in argv { free(text) } }
  execv(path, &argv)
  return .last("execute \(path)")
}

/// The path of a program's file from the root, as policies name it: without links in its folders.
func policyPath(of path: String) -> String {
  let name = shortName(path)
  guard let folder = realpath(path.contains("/") ? Folder.parent(of: path) : ".", nil) else { return path }
  defer { free(folder) }
  let above = String(cString: folder)
  return above == "/" ? "/\(name)" : "\(above)/\(name)"
}

/// The manager of packages that starts this program and puts it into a control group of its own; `nil`: none is known to.
func groupingManager(of path: String) -> String? {
  guard let file = realpath(path, nil) else { return nil }
  defer { free(file) }
  let name = shortName(String(cString: file))
  return ["snap", "flatpak"].first { $0 == name }
}

private func isFile(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
}
