internal import Glibc

/// The reason why the files of an import were not written. None of them was.
package struct OutputFailure: Error, Equatable, Sendable, CustomStringConvertible {
  package let path: String
  package let reason: String
  package let exists: Bool

  package init(path: String, reason: String, exists: Bool = false) {
    self.path = path
    self.reason = reason
    self.exists = exists
  }

  package var description: String { "\(path): \(reason)" }
}

/// Writes the files of an import into a folder, which is created if it is missing: all of them, or none.
///
/// Files for root only are private from their creation on. An existing file is an error and stays unchanged, unless `replacing`, or
/// `changing` names it. Each file
/// appears complete under its name, in the given order, so that a policy never appears before the files that it names.
package func writeFiles(
  _ files: [OutputFile], to folder: String, replacing: Bool, changing: Set<String> = []
) throws(OutputFailure) -> [String] {
  if mkdir(folder, 0o755) != 0, errno != EEXIST { throw OutputFailure(path: folder, reason: String(cString: strerror(errno))) }
  if !replacing {
    for file in files where !changing.contains(file.name) && lstatExists("\(folder)/\(file.name)") {
      throw OutputFailure(path: "\(folder)/\(file.name)", reason: "exists already", exists: true)
    }
  }
  var staged: [String] = []
  var placed: [Placement] = []
  defer { for path in staged { unlink(path) } }
  do throws(OutputFailure) {
    // A full or broken disk is detected here, before anything is changed.
    for file in files { staged.append(try stage(file, in: folder)) }
    for (file, temporary) in zip(files, staged) {
      let mayReplace = replacing || changing.contains(file.name)
      placed.append(try place(temporary, as: "\(folder)/\(file.name)", replacing: mayReplace))
    }
  } catch {
    for placement in placed.reversed() { placement.undo() }
    throw error
  }
  for placement in placed { placement.finish() }
  return placed.map(\.path)
}

/// A file under its name, and a second name of the replaced file, until all files are in place.
private struct Placement {
  let path: String
  let replaced: String?

  func undo() {
    if let replaced { rename(replaced, path) } else { unlink(path) }
  }

  func finish() { if let replaced { unlink(replaced) } }
}

private func lstatExists(_ path: String) -> Bool {
  var status = stat()
  return lstat(path, &status) == 0
}

/// Writes and syncs a complete file beside its place, as a dotfile, which policy folders ignore.
private func stage(_ file: OutputFile, in folder: String) throws(OutputFailure) -> String {
  let temporary = "\(folder)/.\(file.name).roamward-new-\(getpid())"
  let number = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file.isSecret ? 0o600 : 0o644)
  guard number >= 0 else { throw OutputFailure(path: temporary, reason: String(cString: strerror(errno))) }
  var failure: OutputFailure?
  var rest = file.bytes[...]
  while !rest.isEmpty, failure == nil {
    let count = rest.withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    if count < 0 {
      failure = OutputFailure(path: temporary, reason: String(cString: strerror(errno)))
    } else {
      rest = rest.dropFirst(count)
    }
  }
  if failure == nil, fsync(number) != 0 { failure = OutputFailure(path: temporary, reason: String(cString: strerror(errno))) }
  if close(number) != 0, failure == nil { failure = OutputFailure(path: temporary, reason: String(cString: strerror(errno))) }
  guard let failure else { return temporary }
  unlink(temporary)
  throw failure
}

/// link(2) fails if the name exists. rename(2) replaces it, and a second name keeps the old file until the end.
private func place(_ temporary: String, as path: String, replacing: Bool) throws(OutputFailure) -> Placement {
  guard replacing else {
    if link(temporary, path) == 0 { return Placement(path: path, replaced: nil) }
    throw OutputFailure(path: path, reason: String(cString: strerror(errno)), exists: errno == EEXIST)
  }
  let kept = temporary + "-old"
  unlink(kept)
  // Not following: the existing entry may be a symbolic link.
  let isKept = linkat(AT_FDCWD, path, AT_FDCWD, kept, 0) == 0
  guard isKept || errno == ENOENT else { throw OutputFailure(path: path, reason: String(cString: strerror(errno))) }
  if rename(temporary, path) == 0 { return Placement(path: path, replaced: isKept ? kept : nil) }
  let failure = OutputFailure(path: path, reason: String(cString: strerror(errno)))
  if isKept { unlink(kept) }
  throw failure
}
