/// A command of a `PostUp` line or the like, as bash reads it. It is never run: only its words are looked at.
struct HookCommand: Equatable {
  /// The program without its folder, and its arguments, without quotes.
  var words: [String]
  /// The text that it reads from a pipe or a here-string, if that is known.
  var input: String?
  /// The file that its output is written to.
  var output: String?

  var program: String { words.first ?? "" }
  var arguments: ArraySlice<String> { words.dropFirst() }
}

extension HookCommand {
  /// The commands of a hook in the order of the text. `nil`: it has loops, conditions or unfinished quotes. The name of the tunnel's own
  /// link becomes `%i`, as in the manual.
  static func commands(in hook: String, link: String) -> [HookCommand]? { commands(in: hook, link: link, depth: 0) }

  private static func commands(in hook: String, link: String, depth: Int) -> [HookCommand]? {
    guard depth < 4, var lexer = HookLexer(hook) else { return nil }
    var commands: [HookCommand] = []
    while !lexer.tokens.isEmpty {
      guard let command = lexer.command(link: link, before: commands.last) else { return nil }
      if command.isFeed { commands.removeLast() }
      guard !command.command.words.isEmpty else { continue }
      if ["if", "for", "while", "until", "case", "{", "}", "(", ")", "[[", "function", "!"].contains(command.command.program) {
        return nil
      }
      if ["sh", "bash", "dash", "eval"].contains(command.command.program),
        let text = command.command.script
      {
        guard let inner = Self.commands(in: text, link: link, depth: depth + 1) else { return nil }
        commands += inner
      } else {
        commands.append(command.command)
      }
    }
    return commands
  }

  /// The text that a shell is given to run.
  private var script: String? {
    if program == "eval" { return arguments.joined(separator: " ") }
    return arguments.firstIndex { $0.hasPrefix("-") && $0.hasSuffix("c") }.flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
  }

  /// The text that `echo` or `printf` prints; `nil`: it is another program, or its text is not known.
  var printed: String? {
    switch program {
    case "echo":
      let flags = arguments.prefix { ["-e", "-n", "-ne", "-en", "-E"].contains($0) }
      let text = arguments.dropFirst(flags.count).joined(separator: " ")
      return (flags.contains { $0.contains("e") } ? Self.unescaped(text) : text) + "\n"
    case "printf":
      guard let format = arguments.first else { return nil }
      var values = arguments.dropFirst()
      var text = ""
      // The format is used again for as long as there are values.
      repeat {
        var rest = format[...]
        while let percent = rest.firstIndex(of: "%") {
          text += rest[..<percent]
          let kind = rest[percent...].dropFirst().first
          rest = rest[percent...].dropFirst(2)
          switch kind {
          case "s", "b": text += values.popFirst() ?? ""
          case "%": text += "%"
          default: return nil
          }
        }
        text += rest
      } while !values.isEmpty && format.contains("%s")
      return Self.unescaped(text)
    default: return nil
    }
  }

  private static func unescaped(_ text: String) -> String {
    text.replacing("\\n", with: "\n").replacing("\\t", with: "\t")
  }
}

/// The words and operators of a line of a shell.
private struct HookLexer {
  enum Token: Equatable {
    case word(String)
    /// `;`, `&&`, `||`, `&`, or a line's end.
    case end
    case pipe
    /// `>`, `>>`, `<`, `<<<`, of a descriptor.
    case redirection(String, descriptor: String)
  }

  var tokens: ArraySlice<Token> = []
  private var rest: Substring
  private var word: String?

  init?(_ text: String) {
    rest = text[...]
    guard lex() else { return nil }
  }

  private mutating func endWord() {
    if let word { tokens.append(.word(word)) }
    word = nil
  }

  private mutating func lex() -> Bool {
    while let character = rest.popFirst() {
      switch character {
      case " ", "\t", "\r": endWord()
      case "\n", ";":
        endWord()
        tokens.append(.end)
      case "&":
        endWord()
        if rest.first == ">" {
          // Both outputs; only the first is of interest.
          continue
        }
        while rest.first == "&" { rest.removeFirst() }
        tokens.append(.end)
      case "|":
        endWord()
        if rest.first == "|" {
          rest.removeFirst()
          tokens.append(.end)
        } else {
          tokens.append(.pipe)
        }
      case ">", "<": takeRedirection(character)
      case "'":
        guard let end = rest.firstIndex(of: "'") else { return false }
        word = (word ?? "") + rest[..<end]
        rest = rest[end...].dropFirst()
      case "\"": if !takeQuoted() { return false }
      case "\\":
        guard let next = rest.popFirst() else { return false }
        word = (word ?? "") + String(next)
      case "`", "$": if !takeSubstitution(character) { return false }
      default: word = (word ?? "") + String(character)
      }
    }
    endWord()
    return true
  }

  private mutating func takeRedirection(_ first: Character) {
    let descriptor = word.flatMap { $0.allSatisfy(\.isNumber) ? $0 : nil } ?? ""
    if descriptor.isEmpty { endWord() } else { word = nil }
    var text = String(first)
    while let next = rest.first, next == first || next == "&" { text.append(rest.removeFirst()) }
    tokens.append(.redirection(text, descriptor: descriptor))
  }

  private mutating func takeQuoted() -> Bool {
    var text = word ?? ""
    while let character = rest.popFirst() {
      switch character {
      case "\"":
        word = text
        return true
      case "\\":
        guard let next = rest.popFirst() else { return false }
        text += ["\"", "\\", "$", "`"].contains(next) ? String(next) : "\\" + String(next)
      case "$", "`":
        word = text
        guard takeSubstitution(character) else { return false }
        text = word ?? ""
      default: text.append(character)
      }
    }
    return false
  }

  /// Keeps `$(…)`, `` `…` `` and `${…}` as text.
  private mutating func takeSubstitution(_ first: Character) -> Bool {
    var text = String(first)
    let close: Character? = first == "`" ? "`" : rest.first == "(" ? ")" : rest.first == "{" ? "}" : nil
    if let close {
      var depth = first == "`" ? 1 : 0
      while let character = rest.popFirst() {
        text.append(character)
        if character == "(" || character == "{" { depth += 1 }
        if character == close { depth -= 1 }
        if depth == 0 { break }
      }
      if depth != 0 { return false }
    }
    if first == "`" { text = "$(" + text.dropFirst().dropLast() + ")" }
    word = (word ?? "") + text
    return true
  }

  /// The next command. `isFeed`: it reads the output of `before`, which prints a text.
  mutating func command(link: String, before: HookCommand?) -> (command: HookCommand, isFeed: Bool)? {
    var command = HookCommand(words: [])
    var isFeed = false
    if case .pipe = tokens.first {
      tokens.removeFirst()
      // A pipe from a program whose output is not known leaves its reader without a known input.
      guard let text = before?.printed, before?.output == nil else { return nil }
      command.input = text
      isFeed = true
    }
    loop: while let token = tokens.first {
      switch token {
      case .end:
        tokens.removeFirst()
        break loop
      case .pipe: break loop
      case .word(let text):
        tokens.removeFirst()
        command.words.append(text.namingOwnLink(link))
      case .redirection(let text, let descriptor):
        tokens.removeFirst()
        guard case .word(let target) = tokens.popFirst() else { return nil }
        if text == "<<<" {
          command.input = target
        } else if text.hasPrefix(">"), descriptor.isEmpty || descriptor == "1", target != "/dev/null", !text.hasSuffix("&") {
          command.output = target.namingOwnLink(link)
        } else if text.hasPrefix("<") {
          command.words.append("<(\(target)")
        }
      }
    }
    command.dropWrappers()
    return (command, isFeed)
  }
}

extension HookCommand {
  /// Removes what only says how the program is started, and its folder.
  fileprivate mutating func dropWrappers() {
    while let first = words.first {
      let name = first.split(separator: "/").last.map(String.init) ?? first
      let isAssignment = first.firstIndex(of: "=").map { first[..<$0].allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } } ?? false
      guard isAssignment || ["sudo", "env", "nohup", "exec", "command", "builtin", "time"].contains(name), words.count > 1 else {
        words[0] = name
        return
      }
      words.removeFirst()
      while words.count > 1, words.first?.hasPrefix("-") == true { words.removeFirst() }
    }
  }
}

extension String {
  /// The text with the own link's name, however the hook writes it, as `%i`.
  fileprivate func namingOwnLink(_ link: String) -> String {
    var text = self
    for name in ["${INTERFACE}", "$INTERFACE", "${WG_INTERFACE}", "$WG_INTERFACE"] { text = text.replacing(name, with: "%i") }
    if text == link { return "%i" }
    // The name of a record of resolvconf(8).
    if text.hasPrefix("\(link).") { return "%i" + text.dropFirst(link.count) }
    if text.hasSuffix(".\(link)") { return text.dropLast(link.count) + "%i" }
    // As a word inside of a longer text, such as a rule of nft(8).
    return text.split(separator: " ", omittingEmptySubsequences: false).map { part in
      part == link ? "%i" : part == "\"\(link)\"" ? "\"%i\"" : String(part)
    }.joined(separator: " ")
  }
}
