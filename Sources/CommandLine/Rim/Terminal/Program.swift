package import ArgumentParser
internal import NetworkTypes
internal import PolicySource

extension ParsableCommand {
  /// Parses the arguments, runs the command, writes its failure, and ends the program with its status.
  ///
  /// - Parameter synonyms: names that the same commands have in other programs → ours, for who mistypes one.
  package static func runAsProgram(synonyms: [String: String] = [:], renamed: [String: String] = [:]) {
    let program = configuration.commandName ?? _commandName
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      if let refusal = successor(of: arguments, renamed) ?? refusal(of: arguments, synonyms: synonyms) { throw Failure.usage(refusal) }
      var command = try parse(command: arguments)
      do {
        try command.run()
      } catch let error as ValidationError {
        // Errors after parsing are printed without a usage text: the library would print that of the program, not of the command.
        throw Failure.usage(error.message)
      } catch let error where !(error is ExitCode) && !(error is Failure) && exitCode(for: error) == .failure {
        // Not the library's: an error of ours describes itself, with its remedy.
        throw Failure.refused("\(error)")
      }
    } catch let failure as Failure {
      writeError("\(program): \(failure.text)\n")
      exit(withError: failure.status)
    } catch  where exitCode(for: error) == .validationFailure {
      // The library's own status for it is 64.
      writeError(fullMessage(for: error) + "\n")
      exit(withError: ExitStatus.usage)
    } catch {
      // Help, a version or a completion script was requested: write it like all other output.
      if exitCode(for: error) == .success {
        let text = fullMessage(for: error)
        if !text.isEmpty { write(text.hasSuffix("\n") ? text : text + "\n") }
        exit()
      }
      exit(withError: error)
    }
  }

  /// Parses the arguments. A command that the first of them name is parsed by itself: on the way to it, the parser reads the
  /// declarations of all commands, and parses two of them, which takes longer than most changes. Where that fails, and for help, all is
  /// parsed, for its messages.
  private static func parse(command arguments: [String]) throws -> any ParsableCommand {
    var named: any ParsableCommand.Type = Self.self
    var rest = arguments[...]
    while let next = rest.first.flatMap({ subcommand($0, of: named) }) {
      named = next
      rest.removeFirst()
    }
    if named.configuration.subcommands.isEmpty, let command = try? named.parseAsRoot(Array(rest)), type(of: command) == named {
      return command
    }
    return try parseAsRoot(arguments)
  }

  private static func subcommand(_ word: String, of command: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
    command.configuration.subcommands.first { $0._commandName == word || $0.configuration.aliases.contains(word) }
  }

  /// The words that name a command of an earlier version, and what it is called now; `nil`: they name none.
  private static func successor(of arguments: [String], _ renamed: [String: String]) -> String? {
    let words = arguments.prefix { !$0.hasPrefix("-") }
    return [2, 1].lazy.map { words.prefix($0).joined(separator: " ") }.compactMap { old in
      renamed[old].map { "\(quoted(old)) is called `\(configuration.commandName ?? _commandName) \($0)` now" }
    }.first
  }

  /// The reason why the words are not a command; `nil` if they are one, or an option comes first.
  private static func refusal(of arguments: [String], synonyms: [String: String]) -> String? {
    var named: any ParsableCommand.Type = Self.self
    var path = [configuration.commandName ?? _commandName]
    for word in arguments {
      let commands = named.configuration.subcommands
      guard !commands.isEmpty, !word.hasPrefix("-"), path.count > 1 || word != "help" else { return nil }
      if let next = subcommand(word, of: named) {
        named = next
        path.append(word)
        continue
      }
      let names = commands.flatMap { [$0._commandName] + $0.configuration.aliases }
      let others = path.count == 1 ? synonyms : [:]
      let meant = others[word] ?? nearest(to: word, among: names + others.keys.sorted()).map { others[$0] ?? $0 }
      // Below a command with a default, the word may be an argument of that.
      let isArgument = path.count > 1 && named.configuration.defaultSubcommand != nil
      if isArgument && (meant == nil || (try? parseAsRoot(arguments)) != nil) { return nil }
      let place = path.joined(separator: " ")
      return "unknown command \(quoted(word))" + (meant.map { "; did you mean `\(place) \($0)`?" } ?? "")
        + "\n  help: `\(place) --help` lists the commands"
    }
    return nil
  }
}
