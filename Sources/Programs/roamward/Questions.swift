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
