/** argv → exit code. */
console.log("buddy 0.1.0");
