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

  var declared: DeclaredFiles { DeclaredFiles(state.place, layers: files) }

  /// The files, with their warnings shown. Throws where there are none, unless some were there before and are to be forgotten.
  func load(over paths: [String] = [], forgetting: Bool = false) throws -> LoadedGatewayFiles {
    _ = try state.folder
    return try read(over: paths, forgetting: forgetting)
  }

  /// The same for a person who may not read the store.
  func read(over paths: [String] = [], forgetting: Bool = false) throws -> LoadedGatewayFiles {
    let loaded = declared.load(over: paths)
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
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var files: FileOptions

  func run() throws {
    if json { return try showDocument() }
    let loaded = try files.read()
    guard files.declared.mayReadStore else {
      return write(loaded.files.map { "\($0)  read" } + ["note  not tried with the store, which root alone may read: run it as root"])
    }
    _ = try files.declared.effect(of: loaded)
    let tests = loaded.file.expectations.count
    write(loaded.files.map { "\($0)  ok" } + (tests > 0 ? ["\(tests) test\(tests == 1 ? "" : "s") of access passed"] : []))
  }

  private func showDocument() throws {
    let loaded = files.declared.load()
    var (diagnostics, isTried) = (loaded.diagnostics, false)
    if !loaded.hasErrors, !loaded.files.isEmpty, files.declared.mayReadStore {
      do { _ = try files.declared.effect(of: loaded) } catch let refusal as DeclaredFiles.Refusal { diagnostics += refusal.diagnostics }
      isTried = true
    }
    let document = FileCheckDocument(files: loaded.files, diagnostics, isTried: isTried, tests: loaded.file.expectations.count)
    write([JSON(encoding: document).text(indented: true)])
    if diagnostics.contains(where: { $0.severity == .error }) { throw ExitStatus.policyErrors }
  }
}

struct ApplyFiles: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Apply the files of this gateway, or others on trial.",
    discussion: """
      A running gateway takes a change of its files by itself. If any file has errors, nothing changes. What no file says stays as \
      commands have made it; what a file says, commands no longer change. A user who is declared no longer is locked, and keeps devices \
      and password.

      Other files are written into the gateway's folder: each replaces the file of its name, and an empty one masks it.

      With --confirm-within, they are in force on trial. The gateway reverts them when the time is over, even if it was restarted \
      meanwhile, and a reboot ends the trial. `roamward-gateway confirm` writes them into the folder.

      Example: `roamward-gateway apply 10-network.yaml --confirm-within 2m`
      """)
  @Argument(help: ArgumentHelp("Other files, or folders of files.", valueName: "path"), completion: .file()) var paths: [String] = []
  @Option(help: ArgumentHelp("Revert after this time without `confirm`: 60s, 5m.", valueName: "duration"))
  var confirmWithin: DurationArgument?
  @OptionGroup var trial: TrialOption
  @OptionGroup var output: EffectOutput
  @OptionGroup var files: FileOptions

  func validate() throws {
    guard let confirmWithin else { return }
    guard confirmWithin.length <= FileTrial.longest else { throw ValidationError("--confirm-within is at most a day: 24h") }
    if paths.isEmpty {
      throw ValidationError("--confirm-within is for other files than those in the gateway's folder, which are in force: name them")
    }
  }

  func run() throws {
    let loaded = try files.load(over: paths, forgetting: hasMarks)
    try files.state.folder.refuseOtherStore()
    let fileTrial = try FileTrial(files.state.folder)
    if loaded.files.isEmpty, !paths.isEmpty {
      throw Failure.refused(
        "with these files, none would declare this gateway, and everything would stay\n"
          + "  help: to end the declarations, remove the files, and run `roamward-gateway apply` alone")
    }
    if loaded.files.isEmpty {
      if !trial.dryRun { _ = try fileTrial.apply([], over: files.declared) }
      return write(["no file declares this gateway any more: everything stays, and commands change it"] + trial.note)
    }
    if trial.dryRun {
      if !paths.isEmpty {
        try fileTrial.refuseSecond()
        _ = try DeclaredFiles.gather(paths)
      }
      output.show(try files.declared.effect(of: loaded), isMade: false)
      if !output.json { write(trial.note) }
    } else if let confirmWithin {
      output.show(try fileTrial.begin(paths, lasting: confirmWithin.length, over: files.declared), isMade: true)
      if !output.json { write(["on trial: reverted in \(confirmWithin.text) unless you run `roamward-gateway confirm`"]) }
    } else {
      output.show(try fileTrial.apply(paths, over: files.declared), isMade: true)
    }
  }

  /// Whether files declared this gateway.
  private var hasMarks: Bool { (try? files.state.directory(.users([]))).map { !$0.marks.rows.isEmpty } ?? false }
}

struct ConfirmFiles: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm",
    abstract: "Keep the files on trial.",
    discussion: """
      Writes them into the gateway's folder, and changes nothing else.

      Example: `roamward-gateway confirm`
      """)
  @OptionGroup var trial: TrialOption
  @OptionGroup var files: FileOptions

  func run() throws {
    let fileTrial = try FileTrial(files.state.folder)
    let (names, folder) = try fileTrial.confirmation(over: files.declared)
    if !trial.dryRun { try fileTrial.confirm(over: files.declared) }
    write(names.map { "write   \(folder)/\($0)" } + trial.note)
  }
}

struct RevertFiles: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revert",
    abstract: "Revert the files on trial now.",
    discussion: """
      The gateway is again what it was before the trial. What others have changed since stays.

      Example: `roamward-gateway revert`
      """)
  @OptionGroup var trial: TrialOption
  @OptionGroup var output: EffectOutput
  @OptionGroup var state: StateOptions

  func run() throws {
    output.show(try FileTrial(state.folder).revert(make: !trial.dryRun), isMade: !trial.dryRun)
    if !output.json { write(trial.note) }
  }
}

/// `90s`, `5m`, `2h`: at least a second.
struct DurationArgument: ExpressibleByArgument {
  let text: String
  let length: Duration

  init?(argument: String) {
    let units: [(Character, Int64)] = [("s", 1), ("m", 60), ("h", 3600)]
    guard let unit = units.first(where: { argument.last == $0.0 }), let number = Int64(argument.dropLast()), 1...86_400 ~= number else {
      return nil
    }
    (text, length) = (argument, .seconds(number * unit.1))
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
  @Flag(help: "Print it as JSON, which files may have too.") var json = false
  @OptionGroup var state: StateOptions

  func run() throws {
    var file = GatewayFile()
    file.declaration = Declaration(of: try state.directory())
    file.host = try HostSettings(of: state.folder)
    write(json ? file.json.text(indented: true) + "\n" : file.text)
  }
}
