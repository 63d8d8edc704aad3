import Glibc
import Terminal

/// Whether a person sits at a terminal, who can be asked.
var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

/// Asks until the answer is yes or no. The end of the input is no.
func confirmed(_ question: String, default usual: Bool) -> Bool {
  while true {
    writeError("\(question) [\(usual ? "Y/n" : "y/N")] ")
    guard let line = readLine() else {
      writeError("\n")
      return false
    }
    switch line.lowercased().filter({ $0 != " " }) {
    case "": return usual
    case "y", "yes": return true
    case "n", "no": return false
    default: writeError("Please answer y or n.\n")
    }
  }
}

/// Asks for a line; an empty one, and the end of the input, are none.
func asked(_ question: String) -> String? {
  writeError("\(question) ")
  guard let line = readLine() else {
    writeError("\n")
    return nil
  }
  return line.isEmpty ? nil : line
}

/// Asks until the answer is a whole `yes` or `no`, for what must not be agreed to in passing. The end of the input is no.
func confirmedInFull(_ question: String) -> Bool {
  while true {
    writeError("\(question) [yes/no] ")
    guard let line = readLine() else {
      writeError("\n")
      return false
    }
    switch line.lowercased().filter({ $0 != " " }) {
    case "yes": return true
    case "no": return false
    default: writeError("Please type yes or no.\n")
    }
  }
}
