internal import Glibc

/// Why the files of an import are not on disk. None of them is.
package struct OutputFailure: Error, Hashable, Sendable, CustomStringConvertible {
  package let path: String
  package let reason: String
  package var exists = false

  package var description: String { "\(path): \(reason)" }
}

/// Writes the files of an import into a folder, which is made where it is missing: all of them, or none.
///
/// Files for root alone are so from their first instant. A file that is there already is an error, and stays as it is, unless `replacing`.
/// Each appears whole under its name, in the order given, so that a policy never stands there before what it names.
package func writeFiles(_ files: [OutputFile], to folder: String, replacing: Bool) throws(OutputFailure) -> [String] {
  if mkdir(folder, 0o755) != 0, errno != EEXIST { throw OutputFailure(path: folder, reason: String(cString: strerror(errno))) }
  if !replacing {
    for file in files where lstatExists("\(folder)/\(file.name)") {
      throw OutputFailure(path: "\(folder)/\(file.name)", reason: "exists already", exists: true)
    }
  }
  var written: [String] = []
  for file in files {
    do throws(OutputFailure) {
      written.append(try place(file, in: folder, replacing: replacing))
    } catch {
      // What was replaced is gone; what is new goes again.
      if !replacing { for path in written { unlink(path) } }
      throw error
    }
  }
  return written
}

private func lstatExists(_ path: String) -> Bool {
  var status = stat()
  return lstat(path, &status) == 0
}

/// Through a dotfile beside it, which policy folders pass over: link(2) fails where there is something of that name, rename(2) replaces it.
private func place(_ file: OutputFile, in folder: String, replacing: Bool) throws(OutputFailure) -> String {
  let path = "\(folder)/\(file.name)"
  let temporary = "\(folder)/.\(file.name).roamward-new-\(getpid())"
  let number = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file.isSecret ? 0o600 : 0o644)
  guard number >= 0 else { throw OutputFailure(path: temporary, reason: String(cString: strerror(errno))) }
  defer { unlink(temporary) }
  var rest = file.bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    guard count >= 0 else {
      let reason = String(cString: strerror(errno))
      close(number)
      throw OutputFailure(path: path, reason: reason)
    }
    rest = rest.dropFirst(count)
  }
  let isSafe = fsync(number) == 0
  guard close(number) == 0, isSafe, replacing ? rename(temporary, path) == 0 : link(temporary, path) == 0 else {
    throw OutputFailure(path: path, reason: String(cString: strerror(errno)), exists: errno == EEXIST)
  }
  return path
}
