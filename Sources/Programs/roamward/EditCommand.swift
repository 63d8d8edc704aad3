import ArgumentParser
import Glibc
import LinuxIO
import LinuxPlatform
import PolicyAuthoring
import PolicyFiles
import PolicySource
import RoamwardCore
import Terminal

struct Edit: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Edit a policy file in force.",
    discussion: """
      Opens $VISUAL, else $EDITOR, on a copy. The copy is checked together with all other policies when the editor ends. It takes effect \
      if there are no errors; otherwise the file stays as it is, and the command offers to edit again.

      A file of packages (/usr/lib) stays as it is: the changed copy in /etc masks it. A new name that ends in .yaml makes a new file.

      Example: `roamward edit corp`
      """)

  @OptionGroup var change: ChangeOptions
  @Argument(help: "File, tunnel or network.", completion: .tunnels) var name: String?

  func run() throws {
    let path = try fileToEdit()
    let isThere = access(path, F_OK) == 0
    let before = isThere ? try change.text(of: path) : "version: 1\n"
    let draft = try Draft(named: fileName(of: path), text: before)
    while true {
      try draft.edit()
      let text = try change.text(of: draft.path)
      if text == before {
        draft.remove()
        write("\(path): not changed\n")
        return
      }
      if try takesEffect(text, of: path, before: isThere ? before : nil) {
        draft.remove()
        write("\(change.layers.last ?? ".")/\(fileName(of: path)): active\n")
        return
      }
      guard isInteractive, confirmed("Edit again?", default: true) else {
        writeError("roamward: \(path) stays as it is; the draft is \(draft.path)\n")
        throw ExitStatus.policyErrors
      }
    }
  }

  private func fileToEdit() throws -> String {
    let listing = PolicyListing(try change.load())
    let files = listing.files.filter { $0.state == .inForce || $0.state == .broken }
    guard let name else {
      if files.count == 1 { return files[0].path }
      let known = files.map { fileName(of: $0.path) }.joined(separator: ", ")
      throw ValidationError(
        files.isEmpty ? "there are no policies yet; `roamward init` or `roamward import FILE` makes the first" : "name one of \(known)")
    }
    let found = listing.paths(of: name)
    if found.count == 1 { return found[0] }
    if found.count > 1 { throw ValidationError("\"\(name)\" is in \(found.joined(separator: ", ")); name the file") }
    if !name.contains("/"), !name.hasPrefix("."), name.hasSuffix(".yaml") || name.hasSuffix(".yml") {
      return "\(change.layers.last ?? ".")/\(name)"
    }
    return try listing.named(name)[0]
  }

  /// Checks the text together with all other policies, and puts it into force. Errors are printed.
  private func takesEffect(_ text: String, of path: String, before: String?) throws -> Bool {
    let name = fileName(of: path)
    let files = try change.changed(path, to: text)
    let loaded = try change.load(with: files)
    for diagnostic in loaded.diagnostics { writeError(diagnostic.rendered(color: usesColor) + "\n") }
    if loaded.hasErrors { return false }
    if let before, try change.text(of: path) != before {
      writeError("roamward: another program has changed \(path) meanwhile; look at it with `roamward cat \(name)`\n")
      return false
    }
    do {
      try change.put(files)
      return true
    } catch is ExitCode {
      // The reason was printed.
      return false
    }
  }
}

/// A copy for an editor, in a folder that only this user may enter.
private struct Draft {
  let folder: String
  let path: String

  init(named name: String, text: String) throws {
    // Not beside the policies: there the agent would read a draft. mkdtemp(3) makes the folder for this user alone, under a free name.
    let parent = environment("TMPDIR") ?? "/tmp"
    var template = Array("\(parent)/roamward-edit-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      writeError("roamward: no draft in \(parent): \(String(cString: strerror(errno)))\n")
      throw ExitStatus.refused
    }
    folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    path = "\(folder)/\(name)"
    do throws(SystemError) { try TextFile.create(path, with: Array(text.utf8), mode: 0o600) } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }

  /// Runs the editor, and waits for it.
  func edit() throws {
    let editor = environment("VISUAL") ?? environment("EDITOR") ?? usualEditor
    let quoted = path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
    // As git(1) does: the variable may have arguments.
    let status = system("\(editor) '\(quoted)'")
    guard status == 0 else {
      writeError("roamward: the editor (\(editor)) ended with an error; nothing was changed, and the draft is \(path)\n")
      throw ExitStatus.refused
    }
  }

  private var usualEditor: String {
    ["/usr/bin/sensible-editor", "/usr/bin/editor", "/usr/bin/nano"].first { access($0, X_OK) == 0 } ?? "vi"
  }

  func remove() {
    // Editors leave copies beside it.
    for name in (try? PolicyFileSystem.linux.names(folder)) ?? [] { unlink("\(folder)/\(name)") }
    rmdir(folder)
  }
}

/// A variable of the environment that is not empty.
func environment(_ name: String) -> String? {
  getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}
