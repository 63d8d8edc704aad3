import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import GatewaySource
import JSON
import PolicySource
import Terminal

/// The files of a command, and the gateway that they declare.
struct FileOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read this file or folder; may be repeated.", valueName: "path"), completion: .file())
  var files: [String] = []
  @OptionGroup var state: StateOptions

  var declared: DeclaredFiles { DeclaredFiles(state.folder, layers: files) }

  /// The files, with their warnings shown. Throws where there are none, unless some were there before and are to be forgotten.
  func load(forgetting: Bool = false) throws -> LoadedGatewayFiles {
    let loaded = declared.load()
    for diagnostic in loaded.diagnostics { writeError(diagnostic.rendered(color: usesColor) + "\n") }
    if loaded.hasErrors { throw ExitStatus.policyErrors }
    guard !loaded.files.isEmpty || forgetting else {
      let places = declared.layers.isEmpty ? "give --files" : "write one into \(declared.layers.joined(separator: ", "))"
      throw Failure.refused("there is no file that declares this gateway\n  help: \(places); `roamward-gateway export` prints one")
    }
    return loaded
  }
}

/// Shows what files change, as the other commands show what they change.
struct EffectOutput: ParsableArguments {
  @Flag(help: "Print JSON.") var json = false

  func show(_ effect: DeclaredFiles.Effect, isMade: Bool) {
    let all = ChangeSummary(joining: effect.parts)
    if json {
      write([JSON(encoding: all.document(isMade: isMade, connected: effect.connected)).text(indented: true)])
    } else {
      write(all.text(connected: effect.connected))
    }
  }
}

struct CheckFiles: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Validate the files that declare this gateway.",
    discussion: """
      Reports errors with their places, tries the files with the present store, and makes the tests of access below `expect`. Changes \
      nothing. Needs root where the store is.

      Exit status: 0 no errors; 1 errors.

      Example: `roamward-gateway check`
      """)
  @OptionGroup var files: FileOptions

  func run() throws {
    let loaded = try files.load()
    guard files.declared.mayReadStore else {
      return write(loaded.files.map { "\($0)  read" } + ["note  not tried with the store, which root alone may read: run it as root"])
    }
    _ = try files.declared.effect(of: loaded)
    let tests = loaded.file.expectations.count
    write(loaded.files.map { "\($0)  ok" } + (tests > 0 ? ["\(tests) test\(tests == 1 ? "" : "s") of access passed"] : []))
  }
}

struct ApplyFiles: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Apply the files that declare this gateway.",
    discussion: """
      A running gateway does so by itself when a file changes. If any file has errors, nothing changes. What no file says stays as \
      commands have made it; what a file says, commands no longer change. A user who is declared no longer is locked, and keeps devices \
      and password.

      Example: `roamward-gateway apply --dry-run`
      """)
  @OptionGroup var trial: TrialOption
  @OptionGroup var output: EffectOutput
  @OptionGroup var files: FileOptions

  func run() throws {
    let directory = try? files.state.directory(.users([]))
    let loaded = try files.load(forgetting: directory.map { !$0.marks.rows.isEmpty } ?? false)
    try files.state.folder.refuseOtherStore()
    let declared = files.declared
    if loaded.files.isEmpty {
      if !trial.dryRun { _ = try declared.apply(loaded) }
      return write(["no file declares this gateway any more: everything stays, and commands change it"] + trial.note)
    }
    output.show(try trial.dryRun ? declared.effect(of: loaded) : declared.apply(loaded), isMade: !trial.dryRun)
    if !output.json { write(trial.note) }
  }
}

struct DiffFiles: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Show differences between the files and this gateway.",
    discussion: """
      They are what `apply` would change.

      Exit status: 0 none; 1 differences, or errors.

      Example: `roamward-gateway diff`
      """)
  @OptionGroup var output: EffectOutput
  @OptionGroup var files: FileOptions

  func run() throws {
    let effect = try files.declared.effect(of: try files.load())
    output.show(effect, isMade: false)
    if !effect.isEmpty { throw ExitStatus.refused }
  }
}

struct ExportFiles: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export this gateway as a file that declares it.",
    discussion: """
      Devices, passwords, tokens, sessions and locks are no part of it. Redirect it to a file in /etc/roamward-gateway, remove what commands and \
      logins are to decide, and try it with `roamward-gateway diff`.

      Example: `roamward-gateway export`
      """)
  @OptionGroup var state: StateOptions

  func run() throws {
    var file = GatewayFile()
    file.declaration = Declaration(of: try state.directory())
    file.host = try HostSettings(of: state.folder)
    write(file.text)
  }
}
