import BugReport
